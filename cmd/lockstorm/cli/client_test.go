package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// A trial with client processes is stored with that setting, and replay uses client processes
// again.
func TestRunAndReplayWithClientProcesses(t *testing.T) {
	store := t.TempDir()
	code, _, stderr := lockstorm(t, "run", "--testbed", "process", "--clients-as", "processes", "--locks", "exists-set", "--faults", "client-crash",
		"--trials", "1", "--duration", "2s", "--keep", "--store", store)
	if code != campaign.ExitExpected {
		t.Fatalf("exit code %d; stderr\n%s", code, stderr)
	}
	s := latest(t, store)
	for _, result := range s.Trials {
		if result.Err != "" || result.Spec.ClientsAs != trial.Processes {
			t.Errorf("%s ran with clients as %q: %s", result.Spec.Title(), result.Spec.ClientsAs, result.Err)
		}
	}
	if c := s.Matrix.Cells[0]; c.Exercised != 1 || !strings.Contains(c.Replay, "--clients-as processes") {
		t.Errorf("cell is %+v", c)
	}
	dir := filepath.Join(store, campaign.Latest, "trials", "exists-set", "client-crash", "mutex-0")
	out := t.TempDir()
	if code, _, stderr := lockstorm(t, "replay", dir, "--out", out); code != campaign.ExitExpected {
		t.Errorf("replay: exit code %d; stderr\n%s", code, stderr)
	}
	if spec, err := os.ReadFile(filepath.Join(out, trial.SpecFile)); err != nil || !strings.Contains(string(spec), `"clientsAs":"processes"`) {
		t.Errorf("replayed %s, %v", spec, err)
	}
	if left := servers(t); len(left) > 0 {
		t.Errorf("processes left behind: %v", left)
	}
}
