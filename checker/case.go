package checker

import (
	"sync"

	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
)

// Case is the evidence of one trial, prepared once for all questions: those of Judge, and
// those of package progress, which take the Case inside. It is not for concurrent use.
type Case struct {
	*evidence.Case
	replay func() (*replay, error)
}

// NewCase returns the case of this evidence. The caller must not change the evidence while
// the case is in use.
func NewCase(e history.Evidence) *Case {
	f := &Case{Case: evidence.New(e)}
	f.replay = sync.OnceValues(func() (*replay, error) {
		r, err := f.Replay()
		if err != nil {
			return nil, err
		}
		return replayOf(r), nil
	})
	return f
}

// Hold is one span of time during which a client believed that it held a lock.
type Hold = evidence.Hold

// Never is Hold.To of a hold that nothing in the history ended.
const Never = evidence.Never

// Holds returns the believed holds of a history, in order of From. No hold is empty. The
// error means that the history is impossible.
//
// A release belongs to the client's latest unreleased acquire of that lock and mode with
// the same token or, if none has the token, to the latest unreleased acquire. A release
// without a mode has the mode of its acquire. An acquire that ended with info makes no hold.
func Holds(e history.Evidence) ([]Hold, error) { return evidence.New(e).Holds() }
