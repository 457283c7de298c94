package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// A story tells every party before what becomes of its key, also a party that held the lock for no time at all or was
// not told of its grant, and every command on the way to the harm.
func TestStoriesAreWhole(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for title, links := range map[string][]string{
		"set-nx-ex-get-del under client-pause (mutex), release.n0.2.before-2of3": {
			"c0 acquired", "c0's GET found the key on n0 to be its own", "c0 froze", "c0's key expired", "c1 acquired", "c0's DEL removed the key that was c1's",
		},
		"setnx-expire under failover (mutex), acquire.n0.1.replied.stale-1of2": {
			"c0's SETNX set the key without a TTL on n0", "c0's key was lost with n0", "c1 acquired", "c0's EXPIRE set the life of the key that was c1's",
		},
		"exists-set under reset (mutex), acquire.n0.1.replied-1of2": {
			"c1's EXISTS found no key", "c0's EXISTS found no key", "c1 acquired", "c0's SET at", "c0 acquired",
		},
		"lua-setnx-expire under delay (mutex), release.n0.1.before-1of2": {
			"c0 acquired", "The network held up what c0 sent", "c0's key expired", "c1 acquired", "removed the key that was c1's",
		},
	} {
		t.Run(title, func(t *testing.T) {
			i := slices.IndexFunc(list, func(l corpus.Line) bool { return l.Title() == title && l.Minimal != nil })
			if i < 0 {
				t.Fatal("the corpus has no such minimal trial")
			}
			told := storyOf(t, *list[i].Minimal)
			rest := told
			for _, link := range links {
				_, after, found := strings.Cut(rest, link)
				if !found {
					t.Fatalf("no %q, or not in its place:\n%s", link, told)
				}
				rest = after
			}
		})
	}
}

// storyOf runs a trial of the simulation and returns its story.
func storyOf(t *testing.T, s trial.Spec) string {
	t.Helper()
	tb := sim.New()
	e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		t.Fatal(err)
	}
	recipe, ok := locks.ByID(s.Lock)
	if !ok {
		t.Fatalf("no recipe %s", s.Lock)
	}
	done := trial.Done{Trial: trial.Result{Spec: s}}
	done.Judge(t.Context(), recipe, e, nil)
	f, ok := story.FocusOn(story.Trial{Verdicts: done.Trial.Verdicts, Declared: recipe.Flaws, Evidence: e})
	if !ok {
		t.Fatal("no finding")
	}
	return story.Tell(f).Terminal(400)
}
