package reports

import "testing"

// faultColors are the colours of the golden files.
var faultColors = map[string]string{
	"client-crash": "#d32f2f", "client-pause": "#f57c00", "partition": "#1976d2", "lost-reply": "#7b1fa2", "delay": "#fbc02d",
	"node-pause": "#00796b", "node-restart": "#388e3c", "failover": "#c2185b", "split-brain": "#880e4f",
	"client-skew": "#afb42b", "node-clock": "#827717", "eviction": "#3949ab",
}

func TestEveryCauseHasItsTimeline(t *testing.T) {
	for _, s := range handmadeTrials(t) {
		t.Run(s.Name, func(t *testing.T) {
			f, ok := focusOn(subject{Title: s.Lock + " under " + s.Fault, Verdicts: s.Verdicts, Declared: s.flaws(), Evidence: s.Evidence})
			if !ok {
				t.Fatal("no finding to focus on")
			}
			got, err := timeline(f, func(fault string) string { return faultColors[fault] })
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "timeline/"+s.Name+".svg", got)
			wellFormed(t, got)
		})
	}
}
