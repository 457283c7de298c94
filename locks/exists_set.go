package locks

import (
	"context"
	"fmt"

	"github.com/lockstorm/lockstorm/history"
)

// existsSet is D3's first idea: check whether the key exists, and set it if not. Between the check
// and the SET another client may check too, so two clients get in without any fault. The key never
// expires, so a holder that does not delete it blocks everybody for ever.
//
// Unlock returns ErrNotHeld if DEL replies 0: another client deleted the key, or the node lost it.
type existsSet struct{ plainDel }

func init() {
	Register(Recipe{
		ID:       "exists-set",
		Document: "D3",
		Summary:  "EXISTS key; if 0, SET key 1 · DEL key",
		Topology: Single,
		Claims:   claims("exists-set", forEver, history.Claims{}),
		Flaws: flaws(
			under(anyFault, "race", Bug,
				"Two clients that both see no key both set it, and both believe that they hold the lock.",
				`D3, simple idea; "what its own commands could have kept": SETNX is one command`, "exclusion", "resource"),
			foreignDelete(
				"The first of two holders to leave deletes the key that the other's SET wrote, and lets a third in beside it.",
				"D3, simple idea; "+redisOwner, anyFault...),
			noExpiry("The key has no TTL: a client that crashes, or whose DEL or reply to SET is lost, blocks everybody for ever.",
				"D3, simple idea"),
			may([]string{"delay"}, under([]string{mixed}, "late-command", Bug,
				"A DEL that arrives late, when its client was let in again beside another, removes the client's new lease.",
				"D3, simple idea", "exclusion", "resource")),
			serverLostKey(),
		),
		New: onOneNode(func(h handle) (Lock, error) { return &existsSet{plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *existsSet) TryLock(ctx context.Context) (Lease, error) {
	exists, err := l.node().Do(ctx, "EXISTS", l.key).Int64()
	switch {
	case err != nil:
		return Lease{}, fmt.Errorf("look for %q: %w", l.key, err)
	case exists != 0:
		return Lease{}, ErrBusy
	}
	if err := l.node().Do(ctx, "SET", l.key, 1).Err(); err != nil {
		return Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	return Lease{}, nil
}
