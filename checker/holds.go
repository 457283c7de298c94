package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Never is Hold.To of a hold that nothing in the history ended.
const Never = time.Duration(1<<63 - 1)

// Hold is one span of time during which a client believed that it held a lock.
type Hold struct {
	Lock   string
	Mode   history.Mode
	Client int
	// From is the time of the acquire's ok. To is the first of the release's
	// invocation, the claimed deadline on the client's own clock, the loss it
	// was told of, and its crash; Never if there was none of these.
	From, To time.Duration
	ToWhy    string // "release", "deadline", "lost", "crash" or "never"
	// Acquire is the index of the acquire's ok, End that of the entry that
	// ended the hold; -1 for a deadline and for Never.
	Acquire, End int
}

// Holds returns the believed holds of a history, in order of From. It returns
// an error if the history is impossible.
func Holds(e history.Evidence) ([]Hold, error) { return nil, nil }
