package corpus_test

import (
	"context"
	"flag"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial/worker"
)

func TestMain(m *testing.M) {
	trialtest.Main(m, nil, func(ctx context.Context) error { return worker.Serve(ctx, sim.New()) })
}

var histories = flag.Bool("histories", false, "also fail if the bytes of a history differ from the list")

// Every trial of the corpus shows what the list says: outcome, flaws, broken assumptions and
// remedies, and its smallest version still shows the same flaw. A difference is a change of a
// verdict: argue it, then write the lists anew by make corpus.
func TestTheCorpusShowsItsFacts(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	c := campaign.Campaign{Config: campaign.DefaultConfig(), Testbed: sim.New(), Worker: []string{os.Args[0]}, Corpus: list}
	c.Config.Testbed, c.Config.Parallel = "sim", runtime.GOMAXPROCS(0)
	t.Setenv(trialtest.AsWorker, "1")
	said, err := c.Say(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != len(list) {
		t.Errorf("%d of %d trials of the list ran", len(said), len(list))
	}
	expectNoDifference(t, said)
}

// Trials that ran on real Redis, and the counterexamples of the documentation, are judged from their
// files as the list says.
func TestRecordedTrialsAreJudgedAsTheListSays(t *testing.T) {
	t.Chdir("../..")
	recorded, err := corpus.ReadRecorded(corpus.RecordedList)
	if err != nil {
		t.Fatal(err)
	}
	var said []campaign.Saying
	for _, r := range recorded {
		said = append(said, campaign.SayRecorded(t.Context(), r.Folder, r.Line))
	}
	if len(said) == 0 {
		t.Error("no trial is recorded")
	}
	expectNoDifference(t, said)
}

func expectNoDifference(t *testing.T, said []campaign.Saying) {
	t.Helper()
	for _, s := range said {
		for _, d := range s.Differences() {
			if !d.History || *histories {
				t.Errorf("%s: %s: %s (gone: %v): %s", s.Line.At(), s.Line.Title(), d.What, d.Gone, d.Text)
			}
		}
	}
}

// The corpus shows every flaw that a recipe declares, under each fault for which the recipe declares
// it. In a mix of faults, chance decides which faults coincide.
func TestTheCorpusShowsEveryDeclaredFlaw(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	type cell struct{ lock, fault, flaw string }
	shown, has := map[cell]bool{}, map[string]bool{}
	for _, l := range list {
		has[l.Lock] = true
		for _, f := range l.Facts() {
			shown[cell{l.Lock, l.Fault, corpus.FlawKey(f)}] = true
		}
	}
	for _, r := range locks.All() {
		if r.Library == "" && !has[r.ID] {
			t.Errorf("the corpus has no trial of %s: make corpus LOCKS=%s", r.ID, r.ID)
		}
		for _, f := range r.Flaws {
			for _, fault := range f.Faults {
				known, ok := nemesis.ByName(fault)
				if !has[r.ID] || !ok || known.Mix || slices.Contains(known.Needs, "slots") {
					continue
				}
				if !shown[cell{r.ID, fault, f.Oracle + " by " + f.Cause}] {
					t.Errorf("%s under %s: no trial shows %s by %s", r.ID, fault, f.Oracle, f.Cause)
				}
			}
		}
	}
}

// Each cause that the checker knows is in the corpus, but for those that none of the recipes shows.
func TestTheCorpusHasEveryCause(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, l := range list {
		for _, f := range l.Facts() {
			shown = append(shown, f)
		}
	}
	for _, c := range checker.Causes() {
		if !slices.ContainsFunc(shown, func(f string) bool { return corpus.CauseOf(f) == string(c) }) {
			t.Logf("no recipe shows the cause %s", c)
		}
	}
}
