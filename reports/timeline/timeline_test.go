package timeline

import (
	"testing"

	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// faultColors are the colours of faults in the golden files.
var faultColors = map[string]string{
	"client-crash": "#d32f2f", "client-pause": "#f57c00", "partition": "#1976d2", "lost-reply": "#7b1fa2", "delay": "#fbc02d",
	"node-pause": "#00796b", "node-restart": "#388e3c", "failover": "#c2185b", "split-brain": "#880e4f",
	"client-skew": "#afb42b", "node-clock": "#827717", "eviction": "#3949ab",
}

// drawn returns the trials whose timelines are tested: the recorded trials, one per cause, and the
// hand-made trials of other cases.
func drawn(t *testing.T) []reporttest.Trial {
	t.Helper()
	recorded := reporttest.Recorded(t, "../testdata/recorded")
	return append(reporttest.Unrecorded(t, recorded), recorded...)
}

func TestEveryCauseHasItsTimeline(t *testing.T) {
	for _, s := range drawn(t) {
		t.Run(s.Name, func(t *testing.T) {
			f := focusOn(t, s)
			got, err := Draw(f, func(fault string) string { return faultColors[fault] })
			if err != nil {
				t.Fatal(err)
			}
			reporttest.Golden(t, s.Name+".svg", got)
			reporttest.WellFormed(t, got)
		})
	}
}
