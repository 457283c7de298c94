//go:build race

package locktest_test

import (
	"context"
	"testing"

	"github.com/lockstorm/lockstorm/locktest"
)

func init() {
	scenes["raced"] = func(t *testing.T) { locktest.Run(t, raced, few("none")) }
	scenes["checkedRaced"] = func(t *testing.T) {
		_, err := locktest.Check(context.Background(), raced, locktest.Options{Faults: []string{"none"}, Trials: -1})
		t.Log("Check returned: ", err)
	}
}

// attempts is a counter that two goroutines change without a mutex.
var attempts int

// raced is a correct lock, except that two goroutines count its attempts.
var raced = instead(func() {
	done := make(chan bool)
	go func() { attempts++; close(done) }()
	attempts++
	<-done
})

// A data race in the lock fails the test, and the output has the race detector's whole report.
func TestADataRaceIsReported(t *testing.T) {
	p := play(t, "raced", t.TempDir())
	if p.passed {
		t.Errorf("it passes:\n%s", p.out)
	}
	p.says(t, "the race detector found a data race", "WARNING: DATA RACE", "race_test.go:", "!panic", "!--- PASS: TestScene/none")
	play(t, "checkedRaced", t.TempDir()).says(t, "Check returned: locktest: ", "the race detector found a data race", "WARNING: DATA RACE")
}
