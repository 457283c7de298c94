package reports

import (
	"testing"

	"github.com/lockstorm/lockstorm/reports/internal/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
)

func TestEveryCauseHasItsCounterexample(t *testing.T) {
	for _, s := range sampleTrials(t) {
		t.Run(s.Name, func(t *testing.T) {
			f, ok := story.FocusOn(told(s.Trial, s.Evidence))
			if !ok {
				t.Fatal("no finding to focus on")
			}
			reporttest.Golden(t, "told/"+s.Name+".txt", []byte(testGlossary.tell(s.Trial, s.Evidence, 0)))
			reporttest.Golden(t, "counterexample/"+s.Name+".md", testGlossary.counterexample(s.Trial, f, "store/demo/"+s.Trial.Dir, ""))
		})
	}
}
