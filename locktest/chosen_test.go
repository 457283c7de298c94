package locktest

import "testing"

// The budget is shared by the faults that -run chooses.
func TestTheBudgetIsSharedByTheFaultsThatRun(t *testing.T) {
	faults := []string{"none", "client-pause", "delay", "partition", "partition-replies"}
	for run, want := range map[string]int{
		"": 5, "^TestLock$": 5, "^TestLock$/^delay$": 1, "TestLock/partition": 2, "TestLock/none|delay": 2, "TestLock/": 5,
		"TestLock/[": 5, "TestLock/nothing": 1,
	} {
		if got := chosen("TestLock", run, faults); got != want {
			t.Errorf("-run %s: %d share it, want %d", run, got, want)
		}
	}
	if got := chosen("TestLock/part", "TestLock/part/delay", faults); got != 1 {
		t.Errorf("in a subtest: %d share it, want 1", got)
	}
}
