// Package clientproc runs each client of a trial on real time in a process of its
// own, the client process, so that it can be frozen and killed as an operating
// system does it.
//
// Here is the trial: its gate, its recorder, and what its locks guard. There is
// the code under test with its connections, timers and clocks. A client process
// asks for all that it does by remote calls (net/rpc) over a pair of pipes: it
// records an invocation, and has the answer, before it sends anything, and records
// a completion after the reply. So entries have their order and times as if it
// were in this process. Its connections lead to a door of the trial, from where
// the gate and the testbed carry on; commands are numbered, held and logged there.
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
	callsFile   = 3 // a pipe: it writes its calls
	answersFile = 4 // a pipe: it reads what they return
	clockFile   = 5 // one page, shared: by how many nanoseconds its wall clock is ahead
)

// Hello is what a client process is told first.
type Hello struct {
	ID   int
	Seed uint64 // of the trial
	Ways testbed.Ways
	Door string // where its connections begin
	// CommandTimeout is the read and write timeout of its connections.
	CommandTimeout time.Duration
	// Origin is the machine's monotonic clock at the trial's start.
	Origin time.Duration
	// Job says what the client is to do, for whoever does it.
	Job []byte
}

// Written is how much a client has written to one of its connections.
type Written struct {
	Conn  int // the door's number
	Bytes int64
}

// Touch is one use of what a lock guards.
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
	Late     time.Duration // how much of it was not meant
}

// End is how a client's session ended.
type End struct {
	Broken *testbed.Breakdown // by the conduct of the code under test; nil if not
	Err    string             // the harness's error; "" if there was none
}

// None is what a call has that takes or returns nothing.
type None struct{}

// serviceName is what calls begin with.
const serviceName = "Trial"

// known are the errors that mean something to the other side.
var known = []error{history.ErrSealed, testbed.ErrCrashed}

// recognise makes of an error that a call returned the one that it was.
func recognise(err error) error {
	for _, k := range known {
		if err != nil && err.Error() == k.Error() {
			return k
		}
	}
	return err
}

// monotonic reads the machine's clock that both sides share.
func monotonic() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}

// pipes are both directions of one line.
type pipes struct {
	io.ReadCloser
	out io.WriteCloser
}

// Write implements io.Writer.
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close implements io.Closer.
func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.out.Close()) }
