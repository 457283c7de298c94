package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports"
)

func TestReplaySaysWhenTheViolationBecameCertain(t *testing.T) {
	out := t.TempDir()
	trial := []string{"replay", "--lock", "set-nx-px", "--fault", "client-pause", "--workload", "mutex", "--schedule", "touch-1of2", "--decided", "2"}
	code, stdout, stderr := lockstorm(t, append(trial, "--out", out)...)
	if code != campaign.ExitExpected || !strings.Contains(stdout, "on it was certain: it showed in all 2 continuations") {
		t.Fatalf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	for _, name := range []string{reports.DecidedFile, "decided.csv", "history.jsonl"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, reports.CounterexampleFile))
	if err != nil || strings.Count(string(page), "]("+reports.DecidedFile+")") != 1 || !strings.Contains(string(page), "](decided.csv)") {
		t.Errorf("the counterexample does not show the plot (%v):\n%s", err, page)
	}
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--decided", "-1"}, "--decided -1: expected 1 to 1000, or 0"},
		{[]string{"--fault", "none", "--schedule", "", "--decided", "2"}, "the trial shows no flaw"},
	} {
		code, _, stderr := lockstorm(t, append(trial, test.flags...)...)
		if code != campaign.ExitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit code %d, stderr\n%s", test.flags, code, stderr)
		}
	}
}
