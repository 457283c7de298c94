package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReportOfTwoTellsWhatChanged compares a campaign with itself, and with another campaign.
func TestReportOfTwoTellsWhatChanged(t *testing.T) {
	stored := func(faults string) string {
		store := filepath.Join(t.TempDir(), "s")
		if code, _, stderr := lockstorm(t, "run", "--locks", "setnx", "--faults", faults, "--trials", "1", "--shrink", "0", "--store", store); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		return filepath.Join(store, "latest")
	}
	first, other := stored("none,failover"), stored("none,client-crash")
	code, stdout, stderr := lockstorm(t, "report", first, first)
	if code != 0 || !strings.HasSuffix(stdout, "\n2 cells in both, 2 of them the same\n") {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	_, stdout, _ = lockstorm(t, "report", first, other)
	if !strings.Contains(stdout, "\n1 cell in both, 1 of them the same\n") || !strings.Contains(stdout, "\nOnly after:\n  setnx under client-crash: BLOCK*\n\nOnly before:\n  setnx under failover: BUG\n") {
		t.Errorf("got\n%s", stdout)
	}
	if code, stdout, _ := lockstorm(t, "report", "--json", first, other); code != 0 || !strings.Contains(stdout, `"direction": "added"`) {
		t.Errorf("exit code %d, got\n%s", code, stdout)
	}
}
