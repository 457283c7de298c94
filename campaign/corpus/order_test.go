package corpus_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// The order of schedules shows every fact of the named candidates, each schedule something that those before it do
// not show, in whatever order the candidates come.
func TestEachScheduleOfTheOrderTeachesSomething(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []corpus.Candidate
		facts := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"f", "g", "h", "i"}), 1, 4, rapid.ID[string])
		seen := map[corpus.Key]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "trials") {
			c := corpus.Candidate{
				Line: corpus.Line{
					Lock: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "lock"), Fault: rapid.SampledFrom([]string{"none", "delay"}).Draw(t, "fault"),
					Workload: "mutex", Schedule: rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "schedule"),
				},
				Cost: rapid.IntRange(1, 9).Draw(t, "cost"), Facts: facts.Draw(t, "facts"),
			}
			if k := c.Line.Key(); !seen[k] {
				seen[k] = true
				all = append(all, c)
			}
		}
		type fact struct{ lock, fault, text string }
		shown := func(order []corpus.Schedule) map[fact]bool {
			known := map[fact]bool{}
			for _, c := range all {
				if !slices.Contains(order, corpus.Schedule{Fault: c.Line.Fault, Workload: c.Line.Workload, Name: c.Line.Schedule}) {
					continue
				}
				for _, f := range c.Facts {
					known[fact{c.Line.Lock, c.Line.Fault, f}] = true
				}
			}
			return known
		}
		order := corpus.Order(all)
		for i := range order {
			if before, after := shown(order[:i]), shown(order[:i+1]); len(after) == len(before) {
				t.Fatalf("schedule %d of %v shows nothing new", i, order)
			}
		}
		var every []corpus.Schedule
		for _, c := range all {
			if c.Line.Schedule != "" {
				every = append(every, corpus.Schedule{Fault: c.Line.Fault, Workload: c.Line.Workload, Name: c.Line.Schedule})
			}
		}
		if got, want := len(shown(order)), len(shown(every)); got != want {
			t.Fatalf("%v shows %d facts of %d", order, got, want)
		}
		all = rapid.Permutation(all).Draw(t, "another order")
		if again := corpus.Order(all); !slices.Equal(again, order) {
			t.Fatalf("got %v, and %v from another order of candidates", order, again)
		}
	})
}

func TestTheOrderNamesWhatExists(t *testing.T) {
	order, err := corpus.BuiltinOrder()
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range order {
		_, fault := nemesis.ByName(s.Fault)
		_, workload := workloads.ByName(s.Workload)
		if !fault || !workload || slices.Contains(order[:i], s) {
			t.Errorf("line %d: %v does not exist, or is there twice", i+1, s)
		}
	}
	if len(order) < 100 {
		t.Errorf("%d schedules teach something, want some hundred", len(order))
	}
}
