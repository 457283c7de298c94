package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// trialOf converts a hand-made trial into the input of a story.
func trialOf(t reporttest.Trial) Trial {
	return Trial{Title: t.Lock + " under " + t.Fault, Verdicts: t.Verdicts, Declared: t.Flaws(), Evidence: t.Evidence}
}

// recordedDir holds the recorded trials. The tests of package reports compare the stories of these
// trials with golden files.
const recordedDir = "../testdata/recorded"

// beside has the names of the hand-made trials that are told although a recorded trial has the same
// name. The value is the detail that only the hand-made trial shows.
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
				fmt.Fprintf(&b, "%11s  %-8s %s\n", wording.Stamp(x.At), x.Who, wording.Plain(x.What))
			}
			reporttest.Golden(t, s.Name+".txt", []byte(b.String()))
		})
	}
}
