package reports

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// recorded lists the folders of trials that the simulation ran and shrank, one per cause, as
// "lockstorm run" stored them.
func recorded(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/recorded/*/spec.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no recorded trials: %v", err)
	}
	for i, f := range folders {
		folders[i] = filepath.Dir(f)
	}
	return folders
}

func TestRecordedTrialsAreToldAsTheyWereReviewed(t *testing.T) {
	for _, folder := range recorded(t) {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			trial, e, err := trial.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			f, ok := story.FocusOn(told(trial, e))
			if !ok {
				t.Fatal("no finding")
			}
			if got := string(f.Finding.Cause); got != name {
				t.Errorf("it is told as %s, want %s", got, name)
			}
			reporttest.Golden(t, "recorded/"+name+"/counterexample.md", testGlossary.counterexample(trial, f, "store/demo/"+name, "", keptFiles{Timeline: true, Porcupine: true}))
			reporttest.Golden(t, "recorded/"+name+"/told.txt", []byte(testGlossary.tell(trial, e, 80)))
			if n := len(story.Tell(f).Steps); n < 3 || n > story.MaxSteps {
				t.Errorf("got %d steps, want 3 to %d", n, story.MaxSteps)
			}
		})
	}
}

// TestStoriesKnowNoRecipe: if a recipe is renamed in the data, only the name changes in the story.
func TestStoriesKnowNoRecipe(t *testing.T) {
	const other = "a-lock-of-our-own"
	check := func(t *testing.T, trial trial.Result, e sampleTrial) {
		t.Helper()
		g, was := testGlossary, trial.Spec.Lock
		render := func(s sampleTrial) string {
			f, ok := story.FocusOn(told(s.Trial, s.Evidence))
			if !ok {
				t.Fatal("no finding")
			}
			return g.tell(s.Trial, s.Evidence, 0) + string(g.counterexample(s.Trial, f, "x", "", keptFiles{Timeline: true, Porcupine: true}))
		}
		e.Trial = trial
		want := render(e)
		e.Trial.Spec.Lock, e.Claims.Lock = other, other
		g.Recipes = append(g.Recipes[:0:0], g.Recipes...)
		for i := range g.Recipes {
			if g.Recipes[i].ID == was {
				g.Recipes[i].ID = other
			}
		}
		// The name stands only in the title, which is not wrapped. In a wrapped paragraph, another
		// name could move the line breaks.
		if got := strings.ReplaceAll(render(e), other, was); got != want {
			t.Errorf("renamed, it reads otherwise\n%s", reporttest.FirstDifference([]byte(got), []byte(want)))
		}
	}
	for _, s := range sampleTrials(t) {
		t.Run(s.Name, func(t *testing.T) { check(t, s.Trial, s) })
	}
	for _, folder := range recorded(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			trial, e, err := trial.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			check(t, trial, sampleTrial{Evidence: e})
		})
	}
}

func TestEveryCauseIsToldFromATrial(t *testing.T) {
	told := map[string]bool{}
	for _, folder := range recorded(t) {
		told[filepath.Base(folder)] = true
	}
	for _, s := range sampleTrials(t) {
		for _, f := range s.Trial.Flaws {
			told[f.Cause] = true
		}
	}
	for _, c := range reporttest.Causes() {
		if !told[c] {
			t.Errorf("no story of cause %s", c)
		}
	}
}
