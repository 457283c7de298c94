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

// Prefixes of synctest's messages: all goroutines of a bubble are blocked for ever, or some
// still are after its main function has returned.
const (
	blocked = "deadlock: all goroutines in bubble are blocked"
	leaked  = "deadlock: main bubble goroutine has exited"
)

// bubble runs f in a bubble of testing/synctest, whose clock advances only when all its
// goroutines wait for something in the bubble. A panic of f and a deadlock of the bubble
// become a *testbed.Breakdown; clean reports whether all of the bubble's goroutines have
// ended. As everywhere in Go, a panic in a goroutine that f started ends the process.
//
// Package testing is needed only to call synctest; nobody reads the zero testing.T.
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
			// The trial itself is over: goroutines that the code under test left blocked
			// can do no harm.
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

// stacks returns the stacks of all goroutines, up to a megabyte.
func stacks() string {
	b := make([]byte, 1<<20)
	return string(b[:runtime.Stack(b, true)])
}
