package reports

import "testing"

func TestEveryCauseHasItsCounterexample(t *testing.T) {
	for _, s := range sampleTrials(t) {
		t.Run(s.Name, func(t *testing.T) {
			f, ok := focusOn(told(s.Trial, s.Evidence))
			if !ok {
				t.Fatal("no finding to focus on")
			}
			golden(t, "told/"+s.Name+".txt", []byte(testGlossary.tell(s.Trial, s.Evidence, 0)))
			golden(t, "counterexample/"+s.Name+".md", testGlossary.counterexample(s.Trial, f, "store/demo/"+s.Trial.Dir, ""))
		})
	}
}
