package sim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// The beginnings of synctest's messages that all goroutines of a bubble wait for ever,
// and that some still do when its main function has returned.
const (
	blocked = "deadlock: all goroutines in bubble are blocked"
	leaked  = "deadlock: main bubble goroutine has exited"
)

// bubble runs f in a bubble of testing/synctest: its clock moves on only when
// all its goroutines wait for something in the bubble. A panic of f and a
// deadlock of the bubble become a *testbed.Breakdown; clean says whether
// nothing of the bubble is left behind. A panic in another goroutine that f
// started ends the process, as everywhere in Go.
//
// The package testing is only needed to call synctest: the zero testing.T is never
// reported to anybody.
func bubble(f func() error) (clean bool, err error) {
	ended := false
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		clean = false
		switch text := fmt.Sprint(p); {
		case ended && strings.HasPrefix(text, leaked):
			// The trial itself is over: what the code under test left behind
			// can do nothing any more, and belongs to nobody.
		case !ended && strings.HasPrefix(text, blocked):
			err = &testbed.Breakdown{
				Kind: history.FDeadlock, Stack: stacks(),
				Detail: "everything waits, nobody for an instant: what they wait for will never come",
			}
		default:
			err = fmt.Errorf("sim testbed: the bubble broke: %s", text)
		}
	}()
	var t testing.T
	synctest.Test(&t, func(*testing.T) {
		defer func() {
			if p := recover(); p != nil {
				err = &testbed.Breakdown{Kind: history.FPanic, Detail: fmt.Sprint(p), Stack: stacks()}
			}
			ended = true
		}()
		err = f()
	})
	return true, err
}

// stacks shows what goroutines are doing, up to a megabyte.
func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}
