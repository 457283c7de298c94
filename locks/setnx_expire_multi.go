package locks

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// setnxExpireMulti is an idea that D3 rejects: SETNX and EXPIRE in a transaction. Redis runs both
// or neither, but a transaction has no if: EXPIRE also runs when SETNX answered 0. Each attempt at
// a busy lock prolongs the key of a living or dead holder, for as long as anybody polls.
//
// If the reply of EXEC is lost, the outcome is unknown. Unlock returns ErrNotHeld if DEL replies 0.
type setnxExpireMulti struct{ plainDel }

func init() {
	Register(Recipe{
		ID:       "setnx-expire-multi",
		Document: "D3",
		Summary:  "MULTI, SETNX key 1, EXPIRE key s, EXEC · DEL key",
		Topology: Single,
		Claims:   claims("setnx-expire-multi", wholeSeconds, history.Claims{}),
		Flaws:    unconditionalExpire("D3: a transaction has no if/else"),
		New:      onOneNode(func(h handle) (Lock, error) { return &setnxExpireMulti{plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *setnxExpireMulti) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, setnxAndExpire(ctx, l.node().TxPipeline(), l.key, l.ttl)
}
