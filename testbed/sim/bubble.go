package sim

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/testbed"
)

// Prefixes of synctest's panics. Synctest panics with blocked if all goroutines of a bubble are
// blocked for ever, and with leaked if some goroutines are still blocked after the bubble's main
// function has returned.
const (
	blocked = "deadlock: all goroutines in bubble are blocked"
	leaked  = "deadlock: main bubble goroutine has exited"
)

// bubble runs f in a bubble of testing/synctest, whose clock advances only when all its
// goroutines wait for something in the bubble. If f panics or the bubble deadlocks, the error
// is a *testbed.Breakdown; after a data race it is testbed.ErrRace. clean reports whether all
// goroutines of the bubble have ended. As everywhere in Go, a panic in a goroutine that f
// started ends the process.
//
// Package testing is needed only to call synctest; the testing.T is zero and unused.
func bubble(f func() error) (clean bool, err error) {
	over := make(chan struct{})
	// After a data race, synctest.Test ends the goroutine that called it.
	go func() {
		defer close(over)
		err = fmt.Errorf("sim testbed: %w", testbed.ErrRace)
		clean, err = enclosed(func() error {
			own := f()
			var broken *testbed.Breakdown
			if errors.As(own, &broken) { // a breakdown counts even after a data race
				err = own
			}
			return own
		})
	}()
	<-over
	return clean, err
}

// enclosed does the work of bubble. A data race ends the goroutine that called enclosed.
func enclosed(f func() error) (clean bool, err error) {
	ended, id := false, ""
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
			stack := crash.Goroutines()
			err = &testbed.Breakdown{
				Kind: history.FDeadlock, Stack: stack,
				Detail: "everything waits, nobody for an instant: what they wait for will never come" + waitsIn(stack, id),
			}
		default:
			err = fmt.Errorf("sim testbed: the bubble broke: %s", text)
		}
	}()
	var t testing.T
	synctest.Test(&t, func(*testing.T) {
		defer func() {
			if p := recover(); p != nil {
				err = &testbed.Breakdown{Kind: history.FPanic, Detail: fmt.Sprint(p), Stack: crash.Goroutines()}
			}
			ended = true
		}()
		id = crash.Bubble()
		err = f()
	})
	return true, err
}

// waitsIn returns the end of a sentence that says where goroutines of the bubble wait in the
// code under test, according to a dump of all goroutines.
func waitsIn(dump, bubble string) string {
	return crash.Where(crash.Lines(crash.ParseGoroutines(dump, bubble)))
}
