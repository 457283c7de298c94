package crash

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// dumped returns the stderr of a Go process that died in the given function. text is the error.
func dumped(text, function string) string {
	return text + "\n\ngoroutine 7 [running]:\n" + function + "(0x1)\n\t/x/x.go:12 +0x1d\n\ngoroutine 8 [select]:\n"
}

const (
	aRecipe = "github.com/lockstorm/lockstorm/locks.(*x).TryLock"
	ofOurs  = "github.com/lockstorm/lockstorm/testbed/sim.(*world).x"
)

func TestOnlyWhatATrialDoesTwiceIsAFinding(t *testing.T) {
	deaths := map[string]*Death{
		"panic":      {Stderr: dumped("panic: boom", aRecipe), Exited: true},
		"other":      {Stderr: dumped("panic: bang", aRecipe), Exited: true},
		"deadlock":   {Stderr: dumped("fatal error: all goroutines are asleep - deadlock!", "main.main"), Exited: true},
		"suspected":  {Stderr: dumped("panic: deadlock suspected", aRecipe), Exited: true},
		"harness":    {Stderr: dumped("panic: boom", ofOurs), Exited: true},
		"runaway":    {Killed: TooLong, Limit: time.Minute},
		"again":      {Killed: TooLong, Limit: 10 * time.Second},
		"endless":    {Killed: TooMuch, Limit: time.Minute},
		"slow":       {Killed: TooSlow, Limit: time.Minute},
		"standstill": {Killed: Standstill},
		"lost":       {Stderr: "log\n", Cut: true, How: "exit status 2", Exited: true},
		"exit":       {How: "exit status 3", Exited: true},
		"killed":     {How: "signal: killed"},
		"logged":     {Stderr: dumped("panic: caught", aRecipe) + dumped("panic: boom", ofOurs), Exited: true},
	}
	tests := []struct{ first, second, kind, says string }{
		{"panic", "panic", history.FPanic, "panic: boom (in " + aRecipe},
		{"panic", "other", history.FPanic, "panic: bang (in " + aRecipe},
		{"suspected", "suspected", history.FPanic, "panic: deadlock suspected"},
		{"deadlock", "deadlock", history.FDeadlock, "fatal error: all goroutines are asleep"},
		{"runaway", "again", history.FRunaway, "the trial did not come to an end within 1m0s of processor time"},
		{"exit", "exit", history.FPanic, "the code under test ended its process: exit status 3"},
		{"harness", "again", "", "died: panic: boom (in " + ofOurs + ", x.go:12); when it was run again: the trial did not come to an end within 10s"},
		{"harness", "panic", "", "when it was run again: panic: boom"},
		{"panic", "again", "", "panic: boom"},
		{"runaway", "endless", "", "when it was run again: " + TooMuch},
		{"slow", "slow", "", "the trial was not over"},
		{"slow", "again", "", "when it was run again: the trial did not"},
		{"standstill", "standstill", "", Standstill + ", and its process does nothing"},
		{"lost", "lost", "", "exit status 2; it wrote so much that why is lost"},
		{"killed", "killed", "", "the trial's process died: signal: killed"},
		{"logged", "logged", "", "panic: boom (in " + ofOurs},
	}
	for _, test := range tests {
		b, err := Agreed(deaths[test.first], deaths[test.second])
		kind, says := "", fmt.Sprint(err)
		if b != nil {
			kind, says = b.Kind, b.Detail
		}
		if (b != nil) != (err == nil) || kind != test.kind || !strings.Contains(says, test.says) {
			t.Errorf("%s, then %s: %q, %s; want %q, %q", test.first, test.second, kind, says, test.kind, test.says)
		}
	}
}

// A library that panics is not to blame. Its caller is: the harness or the code under test.
func TestAPanicIsTheDoingOfWhoCalledTheLibrary(t *testing.T) {
	for caller, ours := range map[string]bool{
		"github.com/lockstorm/lockstorm/testbed/sim.(*world).callNext": true,
		"github.com/lockstorm/lockstorm/locks.(*redlock).TryLock":      false,
		"example.org/service.(*Lock).Lock":                             false,
	} {
		d := &Death{Exited: true, How: "exit status 2", Stderr: "panic: boom\n\ngoroutine 7 [running]:\n" +
			"slices.Delete[...](0x1)\n\t/go/src/slices/slices.go:12 +0x1\n" + caller + "(0x1)\n\t/c/caller.go:3 +0x1\n\n"}
		if b, err := d.Breakdown(); (err != nil) != ours || (b == nil) != ours {
			t.Errorf("called by %s: got %v, %v; ours: %t", caller, b, err, ours)
		}
	}
}

func TestTheHarnesssOwnPanicIsNoVerdict(t *testing.T) {
	stderr := func(function, file string) string {
		return "log\npanic: boom [recovered, repanicked]\n\ngoroutine 7 [running, synctest bubble 3]:\npanic({0x1?, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n" +
			"example.org/x.(*T).f.func1()\n\t/x/x.go:1 +0x1\npanic({0x1?, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n" + function + "(0x1, {0x2, 0x3})\n\t" + file + ":12 +0x1d\n\ngoroutine 8 [select]:\n"
	}
	tests := map[string]struct {
		function, file string
		ours           bool
	}{
		"a library's": {"github.com/redis/go-redis/v9.(*Client).Get", "/r/redis.go", false},
		"a recipe's":  {"github.com/lockstorm/lockstorm/locks.(*redlock).TryLock", "/l/redlock.go", false},
		"a user's":    {"github.com/lockstorm/lockstorm/locks_test.f", "/l/user_test.go", false},
		"ours":        {"github.com/lockstorm/lockstorm/testbed/sim.(*world).x", "/l/sim.go", true},
	}
	for name, test := range tests {
		d := &Death{Stderr: stderr(test.function, test.file), How: "exit status 2", Exited: true}
		b, err := d.Breakdown()
		if (err != nil) != test.ours || (b == nil) != test.ours {
			t.Fatalf("%s: %v, %v", name, b, err)
		}
		if want := fmt.Sprintf("panic: boom (in %s, %s:12)", test.function, filepath.Base(test.file)); b != nil && (b.Detail != want || b.Kind != history.FPanic) {
			t.Errorf("%s: %+v, want %q", name, b, want)
		}
	}
	if b, err := (&Death{How: "signal: killed"}).Breakdown(); err == nil {
		t.Errorf("killed by somebody else: %v", b)
	}
	if b, _ := (&Death{Stderr: "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select]:\nmain.main()\n\t/m.go:1 +0x1\n", Exited: true}).Breakdown(); b == nil || b.Kind != history.FDeadlock {
		t.Errorf("deadlock: %+v", b)
	}
}

func TestADataRaceIsReadFromStderr(t *testing.T) {
	const report = "==================\nWARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\n  example.org/paylock.f()\n      /p/lock.go:12 +0x1\n==================\n"
	d := &Death{Stderr: "log\n" + report + "log\n" + report, Exited: true, How: "exit status 66"}
	if got := Races(d.Stderr); got != report+report {
		t.Errorf("got %q, want the report twice", got)
	}
	if b, err := d.Breakdown(); !errors.Is(err, testbed.ErrRace) {
		t.Errorf("got %v, %v; want %v", b, err, testbed.ErrRace)
	}
	if got, want := Races(strings.Repeat(report, 9)), report+report+"7 more reports of the race detector are left out\n"; got != want {
		t.Errorf("many: got %q, want %q", got, want)
	}
	if got := Races("log\n"); got != "" {
		t.Errorf("without a report: got %q", got)
	}
}

// A value from outside the bubble comes from an earlier trial of the process.
func TestWhatAnEarlierTrialLeftIsNoBreakdownOfThisOne(t *testing.T) {
	for text, want := range map[string]bool{
		"fatal error: select on synctest channel from outside bubble":    true,
		"fatal error: receive on synctest channel from outside bubble":   true,
		"panic: reset of synctest timer from outside bubble":             true,
		"panic: boom from outside bubble":                                false,
		"fatal error: all goroutines are asleep - deadlock!":             false,
		"panic: a lock printed: synctest channel from outside of a test": false,
	} {
		if got := (&Death{Exited: true, Stderr: dumped(text, "example.org/service.(*Lock).Lock")}).Carried(); got != want {
			t.Errorf("%s: carried %t, want %t", text, got, want)
		}
	}
}
