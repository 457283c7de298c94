package reports

import (
	"testing"
)

func TestEveryCauseHasItsTimeline(t *testing.T) {
	for _, s := range sampleTrials(t) {
		t.Run(s.Name, func(t *testing.T) {
			f, ok := focusOn(s.Trial, s.Evidence)
			if !ok {
				t.Fatal("no finding to focus on")
			}
			got, err := timeline(newScene(s.Trial, s.Evidence, f), testGlossary.faultColor)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "timeline/"+s.Name+".svg", got)
			wellFormed(t, got)
		})
	}
}

func TestEveryCauseHasItsCounterexample(t *testing.T) {
	for _, s := range sampleTrials(t) {
		t.Run(s.Name, func(t *testing.T) {
			f, ok := focusOn(s.Trial, s.Evidence)
			if !ok {
				t.Fatal("no finding to focus on")
			}
			golden(t, "told/"+s.Name+".txt", []byte(testGlossary.tell(s.Trial, s.Evidence, 0)))
			golden(t, "counterexample/"+s.Name+".md", testGlossary.counterexample(s.Trial, s.Evidence, f, "store/demo/"+s.Trial.Dir, ""))
		})
	}
}
