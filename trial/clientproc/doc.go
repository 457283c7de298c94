// Package clientproc runs each client of a trial on real time in a process of its own,
// the client process, so that it can be frozen and killed as an operating system does
// it.
//
// This process has the trial: its gate, its recorder, and what its locks guard. The
// client process has the code under test with its connections, timers and clocks. It
// does everything by remote calls (net/rpc) over a pair of pipes: it records an
// invocation, and awaits the answer, before it sends anything, and records a completion
// after the reply. So entries have their order and times as if the client ran in this
// process. Its connections lead to a door of the trial; from there the gate and the
// testbed forward them. Commands are numbered, held and logged there.
//
// Both sides read one clock: the machine's monotonic one, counted from the trial's
// start.
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

// The file descriptors that a client process is started with.
const (
	callsFile   = 3 // a pipe for its calls
	answersFile = 4 // a pipe for their results
	clockFile   = 5 // one shared page: its wall clock's offset in nanoseconds
)

// Hello is the first message to a client process.
type Hello struct {
	ID   int
	Seed uint64 // of the trial
	Ways testbed.Ways
	Door string // the address for all its connections
	// CommandTimeout is the read and write timeout of its connections.
	CommandTimeout time.Duration
	// Origin is the machine's monotonic clock at the trial's start.
	Origin time.Duration
	// Job describes the client's task.
	Job []byte
}

// Written is how much a client has written to one of its connections.
type Written struct {
	Conn  int // the door's number
	Bytes int64
}

// Touch is one use of a guarded resource.
type Touch struct {
	Lock   string
	Fence  int64
	Write  bool
	Values []int64
}

// Last is the last entry of a history.
type Last struct {
	Op history.Op
	At time.Duration
}

// Gap is a time in which a client process did nothing, on the history's clock.
type Gap struct {
	From, To time.Duration
	Late     time.Duration // the part that no freeze explains
}

// End is how a client's session ended.
type End struct {
	Broken *testbed.Breakdown // by the conduct of the code under test; nil if not
	Err    string             // the harness's error; "" if there was none
}

// None is the argument or result of a call without one.
type None struct{}

// serviceName begins the name of every call.
const serviceName = "Trial"

// known are the errors whose identity matters to the other side.
var known = []error{history.ErrSealed, testbed.ErrCrashed}

// recognise turns a call's error back into the known error that it was.
func recognise(err error) error {
	for _, k := range known {
		if err != nil && err.Error() == k.Error() {
			return k
		}
	}
	return err
}

// monotonic reads the machine's clock, which both sides share.
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
