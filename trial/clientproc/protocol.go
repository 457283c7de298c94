package clientproc

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// The file descriptors that a client process inherits.
const (
	callsFile   = 3 // a pipe for the client's calls
	answersFile = 4 // a pipe for the results of these calls
	clockFile   = 5 // shared memory: the client's wall-clock offset in nanoseconds
)

// Hello is the first message to a client process.
type Hello struct {
	ID    int
	Seed  uint64 // the trial's seed
	Route testbed.Route
	Relay string // address to which the client connects to reach any node
	// CommandTimeout is the read and write timeout of the client's connections.
	CommandTimeout time.Duration
	// Origin is the machine's monotonic clock at the trial's start.
	Origin time.Duration
	// Job describes the client's task.
	Job []byte
}

// Written is the argument of the call Passed: how much a client has written to one of its
// connections.
type Written struct {
	Conn  int // the connection's number at the relay
	Bytes int64
}

// Touch is the argument of the call Touch: one read or write of a guarded resource.
type Touch struct {
	Lock   string
	Fence  int64
	Write  bool
	Values []int64
}

// Last is the argument of the call End, which records the last entry of a history.
type Last struct {
	Op history.Op
	At time.Duration
}

// Gap is an interval without activity of a client process, on the history's clock.
type Gap struct {
	From, To time.Duration
	Late     time.Duration // how late the activity at To was, freezes included
}

// End says how a client's session ended.
type End struct {
	Broken *testbed.Breakdown // how the code under test ended the session; nil = it did not
	Err    string             // the harness's error; "" if there was none
}

// None is an empty argument or result.
type None struct{}

// serviceName begins the name of every call.
const serviceName = "Trial"

// known are the errors that callers look for with errors.Is. A remote call returns only their text.
var known = []error{history.ErrSealed, testbed.ErrCrashed, testbed.ErrHung}

// recognise returns the known error with the same text as a call's error, else the call's error.
func recognise(err error) error {
	for _, k := range known {
		if err != nil && err.Error() == k.Error() {
			return k
		}
	}
	return err
}

// monotonic reads the machine's monotonic clock, which both sides share.
func monotonic() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}

// pipes are both directions of one connection.
type pipes struct {
	io.ReadCloser
	out io.WriteCloser
}

// Write implements io.Writer.
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close implements io.Closer.
func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.out.Close()) }
