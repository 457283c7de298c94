package mutants

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// A recipe in which somebody makes a mistake gives a named trial of the corpus another history, by which a campaign
// notices that the recipe has changed, and runs all its schedules.
func TestTheCorpusNoticesEveryMistake(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range register(t) {
		t.Run(strings.TrimPrefix(m.ID, "mutant-"), func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, l := range list {
				if l.Lock != m.Of || l.Schedule == "" || l.Workload == "extend" && !m.extends {
					continue
				}
				n++
				if mistaken, right := m.hashes(t, l); mistaken != right {
					t.Logf("noticed by trial %d of the list: %s", n, l.Title())
					return
				}
			}
			t.Errorf("%d named trials of the corpus of %s have the same history without the mistake: %s", n, m.Of, m.Doc)
		})
	}
}

// hashes returns the hashes of a line's trial of the mutant and of its control.
func (m Mutant) hashes(t *testing.T, l corpus.Line) (mistaken, right string) {
	t.Helper()
	bed, config := sim.New(), campaign.DefaultConfig()
	config.Testbed = bed.Name()
	s, err := campaign.PlanNamed(t.Context(), bed, config, l.Lock, l.Fault, l.Workload, l.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(lock string) string {
		s.Lock = lock
		e, err := trial.Run(t.Context(), bed, s, history.NewRecorder(nil, bed.Clock()), nil)
		if err != nil {
			t.Fatal(err)
		}
		return history.Hash(e)
	}
	return hash(m.ID), hash(m.ID + "-control")
}
