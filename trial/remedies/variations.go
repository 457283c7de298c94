package remedies

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/trial"
)

// mostVariations is the number of variations of a trial.
const mostVariations = 10

// jitter is a size of variations: how far times differ, and whether the latencies of messages do.
type jitter struct {
	times float64
	seed  bool
}

// jitters are the sizes of variations, the largest first.
var jitters = []jitter{{0.06, true}, {0.006, true}, {0.006, false}, {0.0006, false}, {0.0001, false}}

// variations returns trials that differ slightly from the trial: by the greatest jitter with which half of them show the
// first flaw's oracle violated, or else by the one with which most do. shown says how many do.
func (y *trying) variations() (best []trial.Spec, shown int) {
	shown = -1
	for _, j := range jitters {
		specs, n := make([]trial.Spec, mostVariations), 0
		for i := range specs {
			specs[i] = j.vary(y.trial.Spec, uint64(i+1))
			t, ok := y.run(specs[i], false)
			if ok && slices.ContainsFunc(t.Flaws, func(f trial.Flaw) bool { return f.Oracle == y.trial.Flaws[0].Oracle }) {
				n++
			}
		}
		if n > shown {
			best, shown = specs, n
		}
		if 2*n >= mostVariations || y.budget.Err() != nil || y.fail(nil) {
			break
		}
	}
	return best, shown
}

// vary returns variation number n of a trial.
func (j jitter) vary(s trial.Spec, n uint64) trial.Spec {
	r := rand.New(rand.NewPCG(n, 99))
	if j.seed {
		s.Seed = (s.Seed + n) % trial.MaxSeed
	}
	change := func(d *time.Duration) {
		*d = time.Duration(float64(*d) * (1 - j.times/2 + j.times*r.Float64())).Round(time.Microsecond)
	}
	if len(s.Options.Script) == 0 {
		change(&s.Options.Hold)
		change(&s.Options.Rest)
	}
	s.Options.Script = slices.Clone(s.Options.Script)
	for c, sections := range s.Options.Script {
		s.Options.Script[c] = slices.Clone(sections)
		for i := range sections {
			x := &s.Options.Script[c][i]
			for _, d := range []*time.Duration{&x.Hold, &x.Rest, &x.Retry} {
				change(d)
			}
		}
	}
	return s
}
