package story

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/reporttest"
)

// trialOf is a hand-made trial as a story takes it.
func trialOf(t reporttest.Trial) Trial {
	return Trial{Title: t.Lock + " under " + t.Fault, Verdicts: t.Verdicts, Declared: t.Flaws(), Evidence: t.Evidence}
}

func TestEveryCauseIsToldFromItsEvidence(t *testing.T) {
	for _, s := range reporttest.Trials(t) {
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
