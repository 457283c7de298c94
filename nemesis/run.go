package nemesis

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Run carries the plan out and returns when every action has ended. Each action
// is a window in the history: its invoke entry is written when it strikes, its
// closing info entry when it is healed, with what it hit; an action whose
// trigger did not come leaves an empty window. Whatever was broken is healed
// when Run returns, also if ctx ended early. The error is the harness's: a
// testbed or a recorder that failed, or (wrapping ErrNotSupported) a capability
// that is missing, in which case nothing was done.
func Run(ctx context.Context, p Plan, env testbed.Env, rec *history.Recorder) error {
	return nil
}

// strike is one action in force.
type strike struct {
	env    testbed.Env
	rec    *history.Recorder
	action Action
	hit    testbed.Hit // where it started; the zero Point if at an instant
	client int         // whom it struck, history.NoClient if nobody
	from   time.Duration
	ended  *testbed.Hit // the Until that ended it, nil if time did
}
