package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// TestACounterexampleIsStoredShrunk checks that the violated trial of a cell is stored with a
// smaller one. The smaller trial has a story and a timeline, and replays with its hash.
func TestACounterexampleIsStoredShrunk(t *testing.T) {
	store := t.TempDir()
	if code, _, stderr := lockstorm(t, "run", "--locks", "set-nx-ex", "--faults", "delay", "--workloads", "mutex", "--named=false", "--trials", "1", "--store", store, "--shrink", "100000"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s := latest(t, store)
	cell := s.Matrix.Cells[0]
	if cell.Minimal != filepath.Join(cell.Dir, trial.MinimalFolder) {
		t.Fatalf("of %s the minimal trial is %q", cell.Dir, cell.Minimal)
	}
	folder := filepath.Join(s.Dir, cell.Minimal)
	small, _, err := trial.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if x := small.Shrinking; x == nil || x.To.Clients != 2 || x.To.Ops >= x.From.Ops/2 || x.Unfinished != "" {
		t.Errorf("it was shrunk by %+v", x)
	}
	text, err := os.ReadFile(filepath.Join(folder, "counterexample.md"))
	if err != nil || !strings.Contains(string(text), small.Shrinking.Words()) {
		t.Errorf("the counterexample does not tell of %q: %v", small.Shrinking.Words(), err)
	}
	code, stdout, stderr := lockstorm(t, "replay", folder)
	if code != 0 || !strings.Contains(stdout, small.Hash) || !strings.Contains(stdout, "same history as stored") {
		t.Errorf("replay: exit code %d\n%s%s", code, stdout, stderr)
	}
	out := filepath.Join(t.TempDir(), "found")
	code, stdout, stderr = lockstorm(t, "shrink", filepath.Join(s.Dir, cell.Dir), "--out", out, "--trials", "100000")
	if code != 0 || !strings.Contains(stdout, small.Shrinking.Words()) {
		t.Errorf("shrink: exit code %d\n%s%s", code, stdout, stderr)
	}
	if again, _, err := trial.Load(out); err != nil || again.Hash != small.Hash {
		t.Errorf("shrink found %s (%v), the run %s", again.Hash, err, small.Hash)
	}
	if _, err := os.Stat(filepath.Join(out, "timeline.svg")); err != nil { // shrink draws it although a campaign draws no timeline of a declared flaw
		t.Error(err)
	}
}

func TestWhatIsNotShrunkSaysWhy(t *testing.T) {
	store := t.TempDir()
	lockstorm(t, "run", "--locks", "set-nx-ex", "--faults", "delay", "--workloads", "mutex", "--named=false", "--trials", "1", "--store", store, "--shrink", "1")
	s := latest(t, store)
	cell := s.Matrix.Cells[0]
	whole, _, err := trial.Load(filepath.Join(s.Dir, cell.Dir))
	if err != nil || whole.Shrinking == nil || !whole.Shrinking.NotShrunk || whole.Shrinking.Unfinished != "the budget of 1 trial was used up" || cell.Minimal != "" {
		t.Errorf("%+v, minimal trial %q, %v", whole.Shrinking, cell.Minimal, err)
	}
}
