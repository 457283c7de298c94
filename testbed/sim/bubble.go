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

// leaked is how synctest begins to say that the bubble's main function has
// returned while other goroutines of it wait for ever.
const leaked = "deadlock: main bubble goroutine has exited"

// bubble runs f in a bubble of testing/synctest: its clock moves on only when
// all its goroutines wait for something in the bubble. A panic of f and a
// deadlock of the bubble become a *testbed.Breakdown; clean says whether
// nothing of the bubble is left behind. A panic in another goroutine that f
// started ends the process, as everywhere in Go.
//
// What the package testing contributes is a name to call: the zero testing.T is
// never reported to anybody.
func bubble(f func() error) (clean bool, err error) {
	ended := false
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		text := fmt.Sprint(p)
		if ended && strings.HasPrefix(text, leaked) {
			// The trial itself is over: what the code under test left behind
			// can do nothing any more, and belongs to nobody.
			clean = false
			return
		}
		clean, err = false, &testbed.Breakdown{
			Kind: history.FDeadlock, Stack: stacks(),
			Detail: "everything waits, nobody for an instant: what they wait for will never come",
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
