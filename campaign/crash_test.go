package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/workloads"
)

// dumped is what a Go process writes that died of that in this function.
func dumped(text, function string) string {
	return text + "\n\ngoroutine 7 [running]:\n" + function + "(0x1)\n\t/x/x.go:12 +0x1d\n\ngoroutine 8 [select]:\n"
}

const (
	aRecipe = "github.com/lockstorm/lockstorm/locks.(*x).TryLock"
	ofOurs  = "github.com/lockstorm/lockstorm/testbed/sim.(*world).x"
)

func TestOnlyWhatATrialDoesTwiceIsAFinding(t *testing.T) {
	deaths := map[string]*death{
		"panic":      {stderr: dumped("panic: boom", aRecipe), exited: true},
		"other":      {stderr: dumped("panic: bang", aRecipe), exited: true},
		"deadlock":   {stderr: dumped("fatal error: all goroutines are asleep - deadlock!", "main.main"), exited: true},
		"suspected":  {stderr: dumped("panic: deadlock suspected", aRecipe), exited: true},
		"harness":    {stderr: dumped("panic: boom", ofOurs), exited: true},
		"runaway":    {killed: tooLong, limit: time.Minute},
		"again":      {killed: tooLong, limit: 10 * time.Second},
		"slow":       {killed: tooSlow, limit: time.Minute},
		"standstill": {killed: standstill},
		"lost":       {stderr: "log\n", cut: true, how: "exit status 2", exited: true},
		"exit":       {how: "exit status 3", exited: true},
		"killed":     {how: "signal: killed"},
		"logged":     {stderr: dumped("panic: caught", aRecipe) + dumped("panic: boom", ofOurs), exited: true},
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
		{"slow", "slow", "", "the trial was not over"},
		{"slow", "again", "", "when it was run again: the trial did not"},
		{"standstill", "standstill", "", standstill + ", and its process does nothing"},
		{"lost", "lost", "", "exit status 2; it wrote so much that why is lost"},
		{"killed", "killed", "", "the trial's process died: signal: killed"},
		{"logged", "logged", "", "panic: boom (in " + ofOurs},
	}
	for _, test := range tests {
		b, err := agreed(deaths[test.first], deaths[test.second])
		kind, says := "", fmt.Sprint(err)
		if b != nil {
			kind, says = b.Kind, b.Detail
		}
		if (b != nil) != (err == nil) || kind != test.kind || !strings.Contains(says, test.says) {
			t.Errorf("%s, then %s: %q, %s; want %q, %q", test.first, test.second, kind, says, test.kind, test.says)
		}
	}
}

// once ends its process the first time that it is called in a directory.
func once(dir string) {
	if err := os.Mkdir(dir, 0o777); err == nil {
		panic("once")
	}
}

// What the trial showed when it did not die counts, and how it died is told.
func TestATrialThatDiedOnceShowsHow(t *testing.T) {
	t.Setenv("LOCKSTORM_TEST_ONCE", filepath.Join(t.TempDir(), "once"))
	p := forked(t, 1)
	task := killerTask(t, "test-kills-once")
	d, err := p.run(t.Context(), task, nil)
	if err != nil || d.Trial.Outcome != Blocked || !d.Died || !d.Kept || !strings.Contains(d.Trial.Why, "panic: once") {
		t.Fatalf("trial is %s, died %t, kept %t, why %q, %v", d.Trial.Outcome, d.Died, d.Kept, d.Trial.Why, err)
	}
	stack, err := os.ReadFile(filepath.Join(task.Folder, GoroutinesFile))
	if err != nil || !strings.Contains(string(stack), "panic: once") {
		t.Errorf("goroutines are %q, %v", stack, err)
	}
	var v verdictFile
	if err := readJSON(filepath.Join(task.Folder, VerdictFile), &v); err != nil || v.Outcome != Blocked {
		t.Errorf("verdict is %+v, %v", v, err)
	}
}

func TestASpecThatNoTrialCanBeMadeOfIsTheUsersError(t *testing.T) {
	unknown := soundSpec()
	unknown.Lock = "none-such"
	lazy := soundSpec()
	lazy.Workload = "none-such"
	empty := soundSpec()
	empty.Options.Clients = 0
	astray := soundSpec()
	astray.Options.Script = [][]workloads.Section{{{Lock: astray.Options.Keys}}}
	for want, s := range map[string]Spec{
		`unknown lock "none-such"`: unknown, `unknown workload "none-such"`: lazy,
		"0 clients": empty, "script of client 0, section 0: lock ": astray,
	} {
		_, _, err := Replay{Testbed: &fakeBed{}, Spec: s}.Run(t.Context())
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an InputError with %q", err, want)
		}
		if _, err := execute(t.Context(), &fakeBed{}, task{Spec: s}, new(sync.Mutex), nil); !errors.As(err, &input) {
			t.Errorf("got %v", err)
		}
	}
}

// A library that panics did what it was told: it counts who called it.
func TestAPanicIsTheDoingOfWhoCalledTheLibrary(t *testing.T) {
	for caller, ours := range map[string]bool{
		"github.com/lockstorm/lockstorm/testbed/sim.(*world).callNext": true,
		"github.com/lockstorm/lockstorm/locks.(*redlock).TryLock":      false,
		"example.org/service.(*Lock).Lock":                             false,
	} {
		d := &death{exited: true, how: "exit status 2", stderr: "panic: boom\n\ngoroutine 7 [running]:\n" +
			"slices.Delete[...](0x1)\n\t/go/src/slices/slices.go:12 +0x1\n" + caller + "(0x1)\n\t/c/caller.go:3 +0x1\n\n"}
		if b, err := d.breakdown(); (err != nil) != ours || (b == nil) != ours {
			t.Errorf("called by %s: got %v, %v; ours: %t", caller, b, err, ours)
		}
	}
}

func TestATrialThatStillRecordsIsNoRunaway(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, HistoryFile)
	if grows(dir, time.Hour) {
		t.Error("nothing there, and it grows")
	}
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !grows(dir, time.Hour) {
		t.Error("written just now, and it does not grow")
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if grows(dir, time.Hour) {
		t.Error("written two hours ago, and it grows")
	}
	runaway := &death{killed: tooLong, limit: time.Minute}
	if b, err := agreed(runaway, runaway); err != nil || b.Kind != history.FRunaway {
		t.Errorf("twice without an end: got %v, %v; want a runaway", b, err)
	}
	if b, err := agreed(runaway, &death{killed: tooMuch, limit: time.Minute}); err == nil {
		t.Errorf("still going on the second time: got %v, want no finding", b)
	}
}
