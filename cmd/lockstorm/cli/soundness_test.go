package cli

import (
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

// Where a recipe declares no flaw, nothing is violated: a violation would be a false alarm or an
// unknown flaw. docs/soundness.md has the result of a long run of the same command.
func TestNothingIsAccusedWhereNoFlawIsDeclared(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	m, code, stderr := jsonOf[campaign.Matrix](t, "run", "--clean", "--expect", "--duration", "2s", "--trials", "6", "--store", t.TempDir())
	total := 0
	for _, c := range m.Cells {
		total += c.Trials
		if c.Violations > 0 || len(c.Flaws) > 0 {
			t.Errorf("%s under %s: %d of %d trials violated: %s", c.Lock, c.Fault, c.Violations, c.Trials, c.Replay)
		}
	}
	if code != campaign.ExitExpected {
		t.Errorf("exit code %d; stderr\n%s", code, stderr)
	}
	t.Logf("%d cells, %d trials", len(m.Cells), total)
	if total < len(m.Cells) || total == 0 {
		t.Errorf("%d cells, %d trials: want at least one trial of each", len(m.Cells), total)
	}
}
