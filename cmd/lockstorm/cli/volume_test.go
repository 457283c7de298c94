package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

// TestQuietCommandsTellOnlyWhatIsNotAsExpected also checks that --quiet keeps the exit codes.
func TestQuietCommandsTellOnlyWhatIsNotAsExpected(t *testing.T) {
	dir, _ := simulated(t)
	store := filepath.Join(t.TempDir(), "s")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", "--locks", "setnx", "--faults", "none,client-crash", "--named-only", "--expect", "--shrink", "0", "--store", store, "--quiet"}, campaign.ExitExpected, ""},
		{[]string{"report", filepath.Join(store, campaign.Latest), "-q"}, campaign.ExitExpected, ""},
		{[]string{"check", dir, "--quiet"}, campaign.ExitUnexpected, ""},
		{[]string{"replay", dir, "--quiet"}, campaign.ExitExpected, "same history as stored\n"},
	} {
		code, stdout, stderr := lockstorm(t, c.args...)
		if code != c.code || stdout != c.want || stderr != "" {
			t.Errorf("%q: exit code %d, want %d; stdout %q, want %q; stderr %q", c.args, code, c.code, stdout, c.want, stderr)
		}
	}
}

func TestVerboseRunsTellEachTrial(t *testing.T) {
	code, _, stderr := lockstorm(t, "run", "--locks", "setnx", "--faults", "client-crash", "--named-only", "--shrink", "0", "--store", filepath.Join(t.TempDir(), "s"), "--verbose")
	if n := strings.Count(stderr, "setnx under client-crash, "); code != 0 || n < 5 || !strings.Contains(stderr, "bug: setnx under client-crash: liveness by no-expiry: ") {
		t.Errorf("exit code %d, %d trials are told:\n%s", code, n, stderr)
	}
}
