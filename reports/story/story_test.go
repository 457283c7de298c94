package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/reporttest"
)

// trialOf is a hand-made trial as a story takes it.
func trialOf(t reporttest.Trial) Trial {
	return Trial{Title: t.Lock + " under " + t.Fault, Verdicts: t.Verdicts, Declared: t.Flaws(), Evidence: t.Evidence}
}

// recordedDir has the recorded trials. The tests of package reports compare their stories
// with golden files.
const recordedDir = "../testdata/recorded"

// beside are the hand-made trials whose stories say what that of the recorded trial of the
// same cause does not.
var beside = map[string]string{
	"race":            "nothing failed",
	"client-clock":    "a clock stays wrong",
	"foreign-renewal": "a client prolongs another's key while it holds the lock itself",
	"orphaned-key":    "the holder of the orphaned key held the lock before the blockage",
}

func TestWhatNoRecordedTrialShowsIsToldFromItsEvidence(t *testing.T) {
	recorded := reporttest.Recorded(t, recordedDir)
	recorded = slices.DeleteFunc(recorded, func(s reporttest.Trial) bool { return beside[s.Name] != "" })
	for _, s := range reporttest.Unrecorded(t, recorded) {
		t.Run(s.Name, func(t *testing.T) {
			f, ok := FocusOn(trialOf(s))
			if !ok {
				t.Fatal("no finding to focus on")
			}
			var b strings.Builder
			b.WriteString(Tell(f).Terminal(100) + "\n")
			entries, _ := Log(f)
			for _, x := range entries {
				fmt.Fprintf(&b, "%11s  %-8s %s\n", prose.Stamp(x.At), x.Who, prose.Plain(x.What))
			}
			reporttest.Golden(t, s.Name+".txt", []byte(b.String()))
		})
	}
}
