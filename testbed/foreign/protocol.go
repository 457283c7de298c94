package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockstorm/lockstorm/locks"
)

// Abilities are what a child says that its lock can do, in its first line.
type Abilities struct {
	Extend    bool `json:"extend,omitempty"`
	Until     bool `json:"until,omitempty"`
	Fence     bool `json:"fence,omitempty"`
	Readers   bool `json:"readers,omitempty"`
	Reentrant bool `json:"reentrant,omitempty"`
	Blocking  bool `json:"blocking,omitempty"`
	// Renews: the lock keeps a lease alive by itself until it is released.
	Renews bool `json:"renews,omitempty"`
	// Independent: the lock needs a majority of several nodes that know nothing of each other.
	Independent bool `json:"independent,omitempty"`
}

// request is a line to the child.
type request struct {
	ID     int64  `json:"id,omitempty"`
	Do     string `json:"do,omitempty"` // acquire, release or extend
	Key    string `json:"key,omitempty"`
	TTL    int64  `json:"ttl,omitempty"` // in milliseconds
	Mode   string `json:"mode,omitempty"`
	Lease  int64  `json:"lease,omitempty"`  // the ID of the acquire that granted the lease
	Cancel int64  `json:"cancel,omitempty"` // nothing else is set

	ownRequest
}

// message is a line of the child: exactly one of ready, lost, stall and answer.
type message struct {
	ready  *Abilities
	lost   int64
	stall  *stall
	answer answer
}

type answer struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
	Token string `json:"token,omitempty"`
	Fence int64  `json:"fence,omitempty"`
	Until int64  `json:"until,omitempty"` // how long the lease still lasts, in milliseconds; 0 = not told

	ownAnswer
}

// ownRequest are the fields of requests that only children of this program understand (Serve). Besides, they are
// asked to bind the recipe, to make a handle, and to look for a stall, and told what has passed to the nodes.
type ownRequest struct {
	Job      json.RawMessage `json:"job,omitempty"`      // to bind: what the child serves
	Wait     bool            `json:"wait,omitempty"`     // acquire as locks.Blocker does
	Own      *string         `json:"own,omitempty"`      // acquire with the caller's own token
	Deadline int64           `json:"deadline,omitempty"` // when the caller's context ends, as monotonic tells the time; 0 = never
	Ahead    *time.Duration  `json:"ahead,omitempty"`    // the lead of the child's wall clock; nothing else is set
	Passed   *passage        `json:"passed,omitempty"`   // nothing else is set
}

// ownAnswer are the fields of answers that only children of this program write.
type ownAnswer struct {
	Text     string `json:"text,omitempty"`     // the error's text, if Error is a certain word
	Presumed bool   `json:"presumed,omitempty"` // the error is a locks.ErrPresumed
	Raw      []byte `json:"raw,omitempty"`      // the token, if it is not UTF-8
	Told     bool   `json:"told,omitempty"`     // the lease has a channel that tells its loss
	Wall     int64  `json:"wall,omitempty"`     // the lease's deadline on the client's wall clock, in nanoseconds of Unix time
	Steady   int64  `json:"steady,omitempty"`   // the lease's deadline as monotonic tells the time
	Made     *made  `json:"made,omitempty"`     // what the handle can do
	Panic    string `json:"panic,omitempty"`    // how the code under test ended the call, instead of returning
	Stack    string `json:"stack,omitempty"`
}

// made are the handles that a child has made for one lock. Read and Write are nil unless it is a read-write lock.
type made struct {
	Blocks bool  `json:"blocks,omitempty"` // the handle is a locks.Blocker
	Polls  bool  `json:"polls,omitempty"`  // the handle is a locks.Poller
	Read   *made `json:"read,omitempty"`
	Write  *made `json:"write,omitempty"`
}

// stall says that a child was not scheduled in an interval, as monotonic tells the time.
type stall struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	Late time.Duration `json:"late"` // how late the child was at the end, freezes included
}

// monotonic reads the machine's monotonic clock, which processes share.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every system has this clock
	}
	return time.Duration(now.Nano())
}

// lineLimit is the maximum length of a line of the child, in bytes.
const lineLimit = 1 << 20

// parse reads a line of the child; own says that this program is the child's. The error says what is wrong
// with the line.
func parse(line []byte, own bool) (message, error) {
	var kind struct {
		Ready *bool  `json:"ready"`
		Lost  *int64 `json:"lost"`
		Stall *stall `json:"stall"`
		ID    *int64 `json:"id"`
	}
	if err := json.Unmarshal(line, &kind); err != nil || !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return message{}, fmt.Errorf("the client wrote %s: expected one JSON object a line", excerpt(line))
	}
	var m message
	var err error
	switch {
	case kind.Ready != nil && *kind.Ready:
		m.ready = new(Abilities)
		err = json.Unmarshal(line, m.ready)
	case kind.Lost != nil:
		m.lost = *kind.Lost
	case kind.Stall != nil && own:
		m.stall = kind.Stall
	case kind.ID != nil:
		if err = json.Unmarshal(line, &m.answer); !own {
			m.answer.ownAnswer = ownAnswer{}
		}
	default:
		err = errors.New("expected ready, id or lost")
	}
	if err != nil {
		return message{}, fmt.Errorf("the client wrote %s: %w", excerpt(line), err)
	}
	return m, nil
}

// excerpt quotes the beginning of a text.
func excerpt(text []byte) string {
	if len(text) > 200 {
		return fmt.Sprintf("%.200q…", text)
	}
	return fmt.Sprintf("%q", text)
}

// The words for errors that are certain.
var certain = map[string]error{"busy": locks.ErrBusy, "refused": locks.ErrRefused, "not-held": locks.ErrNotHeld}

// outcome returns the answer's error: certain for three words, unknown for any other text.
func (a answer) outcome() error {
	switch is := certain[a.Error]; {
	case a.Error == "":
		return nil
	case a.Presumed:
		return known{a.Error, []error{locks.ErrBusy, locks.ErrPresumed}}
	case is != nil && a.Text != "":
		return known{a.Text, []error{is}}
	case is != nil:
		return is
	}
	return errors.New(a.Error)
}

// fail sets the answer's error, such that outcome returns one of the same kind and text.
func (a *answer) fail(err error) {
	if err == nil {
		return
	}
	a.Error, a.Presumed = err.Error(), errors.Is(err, locks.ErrPresumed)
	for _, word := range []string{"busy", "refused", "not-held"} {
		if errors.Is(err, certain[word]) && !a.Presumed {
			a.Error, a.Text = word, err.Error()
			return
		}
	}
}

// known is an error with the text and the kinds of an error of a child.
type known struct {
	text string
	is   []error
}

// Error implements error.
func (k known) Error() string { return k.text }

// Unwrap returns the kinds.
func (k known) Unwrap() []error { return k.is }
