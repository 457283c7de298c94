package timeline

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
)

// A hang is drawn to the trial's end, although the fault's window ends earlier.
func TestAHangIsDrawnToTheTrialsEnd(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(0, 10, 13)
	tape.Command(0, "n0", 10.4, "1", "SETNX orders 1")
	tape.Window(14, 500, history.Window{Fault: "hung-work", Effect: history.Hung, Clients: []int{0}, Hits: 1, Impact: &history.Impact{}})
	tape.Event(history.FHung, 14.1, func(o *history.Op) { o.Client = 0 })
	tape.Event(history.FHealed, 500.1, func(o *history.Op) { o.Client = history.NoClient })
	for _, at := range []float64{100, 600, 1100, 1600} {
		tape.Busy(1, at, at+3)
	}
	e := tape.Evidence()
	found := reporttest.Finding(e, checker.HungHolder, 500, 1603, "nobody got in", 1)
	found.Forever = true
	trial := tape.Trial("", "setnx", "hung-work", locks.Limit, e, reporttest.Violated("liveness", found))
	f, ok := story.FocusOn(story.Trial{Title: "hang", Verdicts: trial.Verdicts, Evidence: e})
	if !ok {
		t.Fatal("no finding to focus on")
	}
	end := e.Ops[len(e.Ops)-1].Time
	healed := false
	for _, l := range newScene(f, nil).Lanes {
		for _, b := range l.Bars {
			if b.Look == barFault && b.To != end {
				t.Errorf("the fault's bar ends at %v, want the trial's end, %v", b.To, end)
			}
		}
		for _, s := range l.Shades {
			if s.To != end {
				t.Errorf("%s is shaded until %v, want the trial's end, %v", l.Label, s.To, end)
			}
		}
		for _, m := range l.Marks {
			if strings.HasPrefix(m.Label, "all healed") {
				healed = true
				if m.Label != "all healed but c0" {
					t.Errorf("the mark says %q, but c0 hangs", m.Label)
				}
			}
		}
	}
	if !healed {
		t.Error("no mark says when the faults were healed")
	}
}
