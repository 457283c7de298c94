package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/testbed/childtest"
	"github.com/lockstorm/lockstorm/trial"
)

// TestRunCheckReportOnRealRedis runs a small campaign: set-nx-px holds without faults, and
// exists-set is violated under a pause. Then it judges that violated trial again, and writes the
// report.
func TestRunCheckReportOnRealRedis(t *testing.T) {
	store := t.TempDir()
	code, stdout, stderr := lockstorm(t, "run", "--testbed", "process", "--locks", "set-nx-px,exists-set", "--faults", "none,client-pause", "--workloads", "mutex",
		"--trials", "1", "--duration", "3s", "--store", store, "--json")
	if code != campaign.ExitExpected {
		t.Fatalf("exit code %d; stderr\n%s", code, stderr)
	}
	var m campaign.Matrix
	if err := json.Unmarshal([]byte(stdout), &m); err != nil {
		t.Fatal(err)
	}
	cells := map[string]campaign.Cell{}
	for _, c := range m.Cells {
		cells[c.Lock+" "+c.Fault] = c
	}
	if c := cells["set-nx-px none"]; c.Verdict != trial.Holds || c.Trials != 1 {
		t.Errorf("set-nx-px undisturbed: %+v", c)
	}
	if c := cells["exists-set client-pause"]; c.Verdict != trial.Violated || c.Exercised != 1 {
		t.Errorf("exists-set under client-pause: %+v", c)
	}
	if data, err := os.ReadFile(filepath.Join(store, campaign.Latest, campaign.MatrixFile)); err != nil || string(data) != stdout {
		t.Errorf("matrix.json (%v) is not what --json printed", err)
	}
	checkAgain(t, filepath.Join(store, campaign.Latest, "trials", "exists-set", "client-pause", "mutex-0"))

	code, stdout, stderr = lockstorm(t, "report", filepath.Join(store, campaign.Latest))
	if code != 0 || stderr != "" || !strings.Contains(stdout, "exists-set") || !strings.Contains(stdout, "report: ") {
		t.Errorf("report: exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
	if left := servers(t); len(left) > 0 {
		t.Errorf("processes left behind: %v", left)
	}
}

// checkAgain checks that the stored trial gets the same verdict as in the run.
func checkAgain(t *testing.T, dir string) {
	t.Helper()
	got, code := judged(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, trial.VerdictFile))
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Verdicts []checker.Verdict }
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Verdicts, want.Verdicts) || code != 1 {
		t.Errorf("exit code %d; judged again:\n%+v\nby the run:\n%+v", code, got.Verdicts, want.Verdicts)
	}
}

func TestInterruptionTearsDownAndKeepsWhatIsFinished(t *testing.T) {
	store := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := time.AfterFunc(1500*time.Millisecond, func() { cancel(interruption{syscall.SIGINT}) })
	defer stop.Stop()
	var stdout, stderr bytes.Buffer
	a := app{args: []string{"run", "--testbed", "process", "--locks", "set-nx-px", "--faults", "none", "--workloads", "mutex", "--duration", "20s", "--store", store}, testbeds: testbeds, output: output{stdout: &stdout, stderr: &stderr}}
	if code := a.run(ctx); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if !strings.Contains(stderr.String(), "interrupted by SIGINT; finished trials are in "+store) {
		t.Errorf("stderr is %q", stderr.String())
	}
	// The campaign is kept although no trial had ended, but latest does not point to it.
	dirs, err := filepath.Glob(filepath.Join(store, "compare", "2*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("got %v, %v, want one campaign", dirs, err)
	}
	if _, err := campaign.Load(dirs[0]); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(store, campaign.Latest)); err == nil {
		t.Error("latest points to a campaign without a trial")
	}
	if left := servers(t); len(left) > 0 {
		t.Errorf("processes left behind: %v", left)
	}
}

// servers lists the redis-servers that this process started and did not wait for yet.
func servers(t *testing.T) []string {
	return slices.DeleteFunc(childtest.Children(t), func(stat string) bool { return !strings.Contains(stat, "(redis-server)") })
}
