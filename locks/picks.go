package locks

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Pick is a recipe to choose, for a situation. Picks declare no bugs.
type Pick struct {
	ID string // of the recipe
	// Have says what one has to have; it completes "you have …".
	Have string
	// If is the same as a condition, which completes "take it if …"; "" = none.
	If string
	// Left says what the recipe does not prevent.
	Left string
}

// Picks returns the recipes to choose, for each kind of lock the most generally useful
// first. The README's table has the same rows.
func Picks() []Pick {
	return []Pick{
		{ID: "fenced",
			Have: "one Redis, or a primary with replicas, and a resource that can refuse an older fencing token",
			If:   "the guarded resource can refuse an older fencing token",
			Left: "The resource refuses a late holder. A Redis that forgets the counter (restart without `appendfsync always`, failover, eviction) hands out old tokens."},
		{ID: "set-nx-px-wait",
			Have: "a primary with replicas, and a resource that cannot",
			If:   "Redis has a replica",
			Left: "The lock counts once a replica has it. A primary that restarts empty, the promotion of another replica, an eviction or a clock that jumps still frees it early."},
		{ID: "redlock-drift",
			Have: "five independent nodes that keep what they acknowledged (`appendfsync always`)",
			If:   "five independent nodes keep what they acknowledged (`appendfsync always`)",
			Left: "clocks that jump, evictions"},
		{ID: "redlock-delayed-restart",
			Have: "five independent nodes that may come back empty, kept away for a TTL after a restart",
			If:   "five independent nodes may come back empty, and stay away for a TTL after a restart",
			Left: "clocks that jump, evictions"},
		{ID: "rw-hash-owners",
			Have: "readers and writers on one Redis",
			Left: "a Redis that loses keys, clocks that jump"},
	}
}

// PicksLike returns the picks of the same kind as a recipe with these claims and this
// topology, without the recipe itself: locks of readers and writers for such a lock; on
// independent nodes if the recipe is on these; else on one node or its replicas.
func PicksLike(id string, claims history.Claims, topology Topology) []Pick {
	return slices.DeleteFunc(Picks(), func(p Pick) bool {
		r, ok := ByID(p.ID)
		if !ok || p.ID == id {
			return true
		}
		return r.Claims(time.Second, 5).ReadWrite != claims.ReadWrite ||
			!claims.ReadWrite && (r.Topology == Independent) != (topology == Independent)
	})
}
