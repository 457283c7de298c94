package campaign

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// For each recipe and each fault, named schedules must hit something, and a named trial that
// runs twice must do the same twice. Of each cell a few schedules run, from all over its
// list, until half of the trials hit something; otherwise all run, and a third must hit
// something. A third, because some cannot: a wrong clock within a critical section counts
// only if its client reads the clock again, and the new primary seldom lacks a write.
func TestNamedSchedulesBite(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this runs hundreds of trials; make test runs it without the race detector")
	}
	tb := sim.New()
	p, cells := rehearsed(t, tb, DefaultConfig())
	var specs [][]trial.Spec
	for _, c := range cells {
		if _, never := c.recipe.Declares("liveness", string(checker.NoExpiry), undisturbed); never {
			continue // nobody ever gets the lock, and so nobody gets to most places
		}
		var of []trial.Spec
		for _, w := range c.workloads {
			named, err := p.schedules(c, w)
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, named...)
		}
		if len(of) > 0 {
			specs = append(specs, shuffled(of))
		}
	}
	if len(specs) < 250 {
		t.Fatalf("%d cells have named schedules: want a few hundred", len(specs))
	}
	ran := 0
	for _, of := range specs {
		ran += bites(t, tb, of)
	}
	t.Logf("%d cells, %d trials", len(specs), ran)
}

// bites runs named trials of a cell until a few have run and half of them hit something. It
// returns how many it ran.
func bites(t *testing.T, tb testbed.Testbed, specs []trial.Spec) (ran int) {
	const least = 4
	bit := 0
	var dull []string
	for i, s := range specs {
		e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
		if err != nil {
			t.Fatalf("%s under %s, %s: %v", s.Lock, s.Fault, s.Schedule, err)
		}
		if trial.Hits(s, e.Ops) > 0 {
			bit++
		} else {
			dull = append(dull, s.Schedule)
		}
		if got, want := record(t, tb, s), written(e); i == 0 && !bytes.Equal(got, want) {
			t.Errorf("%s under %s, %s, when it was run again: %s", s.Lock, s.Fault, s.Schedule, firstDifference(got, want))
		}
		if ran = i + 1; ran >= least && 2*bit >= ran {
			return ran
		}
	}
	if fault, _ := nemesis.ByName(specs[0].Fault); fault.Undisturbed {
		return ran // there is nothing to strike with
	}
	if 3*bit < ran {
		t.Errorf("%s under %s: %d of %d schedules struck something, want a third: not %v", specs[0].Lock, specs[0].Fault, bit, ran, dull)
	}
	return ran
}

// shuffled is the specs in an order that is always the same.
func shuffled(specs []trial.Spec) []trial.Spec {
	mixed := make([]trial.Spec, len(specs))
	for i, k := range rand.New(rand.NewPCG(1, 1)).Perm(len(specs)) {
		mixed[i] = specs[k]
	}
	return mixed
}
