package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/trial"
)

// If a trial's process died in the first run but not in the second, a violation in the second run
// counts. The result says how the first process died.
func TestATrialThatDiedOnceShowsHow(t *testing.T) {
	t.Setenv("LOCKSTORM_TEST_ONCE", filepath.Join(t.TempDir(), "once"))
	p := forked(t, 1)
	task := killerTask(t, "test-kills-once")
	d, err := p.Run(t.Context(), task, nil)
	if err != nil || d.Trial.Outcome != trial.Blocked || !d.Died || !d.Kept || !strings.Contains(d.Trial.Why, "panic: once") {
		t.Fatalf("trial is %s, died %t, kept %t, why %q, %v", d.Trial.Outcome, d.Died, d.Kept, d.Trial.Why, err)
	}
	stack, err := os.ReadFile(filepath.Join(task.Folder, trial.GoroutinesFile))
	if err != nil || !strings.Contains(string(stack), "panic: once") {
		t.Errorf("goroutines are %q, %v", stack, err)
	}
	if stored, _, err := trial.Load(task.Folder); err != nil || stored.Outcome != trial.Blocked {
		t.Errorf("verdict is %+v, %v", stored, err)
	}
}

// once makes the directory and panics, unless the directory exists; so only the first call panics.
func once(dir string) {
	if err := os.Mkdir(dir, 0o777); err == nil {
		panic("once")
	}
}

func TestATrialThatStillRecordsIsNoRunaway(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, trial.HistoryFile)
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
}
