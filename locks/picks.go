package locks

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Pick is a recommended recipe for a situation. Its recipe declares limits, but no flaw of kind Bug.
type Pick struct {
	ID string // the recipe's ID
	// Have says what the user must have; it completes "you have …".
	Have string
	// If states Have as a condition; it completes "take it if …". "" = no condition.
	If string
	// Left says what the recipe does not prevent.
	Left string
}

// Picks returns the recommended recipes, grouped by kind of lock; each group begins with the most
// generally useful one. The README's table has the same rows.
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

// PicksLike returns the picks that can replace a recipe with this id, these claims and this
// topology, without the recipe itself. A read-write lock gets read-write locks. Of the remaining
// locks, those on independent nodes get locks on independent nodes, and all others get locks on one
// node, perhaps with replicas.
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
