package locktest

import "testing"

func TestTheBudgetIsSharedByTheFaultsThatRun(t *testing.T) {
	faults := []string{"none", "client-pause", "delay", "partition", "partition-replies"}
	for _, c := range []struct {
		run, skip string
		want      int
	}{
		{"", "", 5},
		{"^TestLock$", "", 5},
		{"^TestLock$/^delay$", "", 1},
		{"TestLock/partition", "", 2},
		{"TestLock/(none|delay)", "", 2},
		{"TestLock/none|TestOther/delay", "", 1}, // two patterns
		{"TestLock/", "", 5},
		{"TestLock/delay/more", "", 1},
		{`TestLock/[n-n]one|\|`, "", 1},
		{"TestLock/nothing", "", 1}, // no fault runs
		{"", "TestLock/partition", 3},
		{"", "TestLock/delay/more", 5},
		{"", "TestOther/delay", 5},
		{"TestLock/partition", "/replies", 1},
	} {
		if got := chosen("TestLock", c.run, c.skip, faults); got != c.want {
			t.Errorf("-run %q -skip %q: %d share it, want %d", c.run, c.skip, got, c.want)
		}
	}
	if got := chosen("TestLock/of_two", "TestLock/of two/(none|delay)", "", faults); got != 2 {
		t.Errorf("with a space: %d share it, want 2", got)
	}
	if got := chosen("TestLock/part", "TestLock/part/delay", "", faults); got != 1 {
		t.Errorf("in a subtest: %d share it, want 1", got)
	}
}
