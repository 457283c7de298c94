package sim

import (
	"fmt"
	"strings"
	"testing"
)

// dumpOf returns a dump of goroutines in bubble 3, each in its own function of the code under
// test.
func dumpOf(states ...string) string {
	var b strings.Builder
	for i, s := range states {
		fmt.Fprintf(&b, "goroutine %d [%s, synctest bubble 3]:\nexample.org/paylock.f%d()\n\t/p/lock.go:1%d +0x1\n\n", i+1, s, i, i)
	}
	return b.String()
}

func TestATrialThatDoesNotGoOnIsNoticed(t *testing.T) {
	const mutex, asleep, running = "sync.Mutex.Lock", "sleep (durable)", "running"
	stands := []string{mutex, asleep}
	for name, test := range map[string]struct {
		looks [][]string
		sends bool
		want  string // part of the last look's error; "" = no error
	}{
		"a mutex, once":       {looks: [][]string{stands}},
		"a mutex":             {looks: [][]string{stands, stands}, want: "the trial's clock stands still: example.org/paylock.f0 waits, not for time but for a lock whose owner waits for time (in example.org/paylock.f0, lock.go:10)"},
		"what is outside":     {looks: [][]string{{asleep, "chan receive"}, {asleep, "chan receive"}}, want: "a goroutine waits for something outside the trial: chan receive (in example.org/paylock.f1, lock.go:11)"},
		"another one":         {looks: [][]string{stands, {asleep, mutex}}},
		"commands are sent":   {looks: [][]string{stands, stands, stands}, sends: true},
		"time goes on":        {looks: [][]string{{asleep}, {asleep}, {asleep}}},
		"time went on":        {looks: [][]string{stands, {asleep}, stands}},
		"it runs":             {looks: [][]string{{running}, {running}, {running}}},
		"it runs on":          {looks: [][]string{{running, mutex}, {running}, {running}, {running, asleep}}, want: "the trial did not come to an end: example.org/paylock.f0 does not return"},
		"it ran now and then": {looks: [][]string{{running}, {running}, {running}, {asleep}, {running}}},
	} {
		w := stallWatch{limit: 4}
		var err error
		for i, states := range test.looks {
			if err != nil {
				t.Errorf("%s: look %d: %v", name, i-1, err)
			}
			if test.sends {
				w.commands.Add(1)
			}
			err = w.look(dumpOf(states...)+"goroutine 99 [running, synctest bubble 4]:\nexample.org/other.f()\n\t/o.go:1 +0x1\n\n", "3")
		}
		if got := fmt.Sprint(err); (err != nil) != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
