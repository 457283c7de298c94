package corpus_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial/worker"
)

func TestMain(m *testing.M) {
	trialtest.Main(m, nil, func(ctx context.Context) error { return worker.Serve(ctx, sim.New()) })
}

var histories = flag.Bool("histories", true, "also fail if the bytes of a history differ from the list")

// Every trial of the corpus shows what the list says: outcome, flaws and broken assumptions,
// and its smallest version still shows the same flaw. A difference is a change of a
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
	for _, l := range list {
		if l.Hash == "" {
			t.Errorf("%s: %s has no hash, by which a campaign notices that its recipe has changed", l.At(), l.Title())
		}
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
// it, unless the fault cannot strike the recipe. In a mix of faults, chance decides which coincide.
func TestTheCorpusShowsEveryDeclaredFlaw(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	type cell struct{ lock, fault, flaw string }
	shown, has := map[cell]bool{}, map[cell]bool{}
	for _, l := range list {
		has[cell{lock: l.Lock}], has[cell{lock: l.Lock, fault: l.Fault}] = true, true
		for _, f := range l.Facts() {
			shown[cell{l.Lock, l.Fault, corpus.FlawKey(f)}] = true
		}
	}
	for _, r := range locks.All() {
		if r.Library != "" {
			continue
		}
		if !has[cell{lock: r.ID}] {
			t.Errorf("the corpus has no trial of %s: make corpus LOCKS=%s", r.ID, r.ID)
		}
		absent := map[string]bool{}
		for _, f := range r.Flaws {
			for _, fault := range f.Faults {
				switch known, ok := nemesis.ByName(fault); {
				case !ok || known.Mix || shown[cell{r.ID, fault, f.Oracle + " by " + f.Cause}]:
				case !has[cell{lock: r.ID, fault: fault}]:
					absent[fault] = true
				default:
					t.Errorf("%s under %s: no trial shows %s by %s", r.ID, fault, f.Oracle, f.Cause)
				}
			}
		}
		for fault := range absent {
			if lacks(t, r.ID, fault) == nil {
				t.Errorf("the corpus has no trial of %s under %s, which can strike it", r.ID, fault)
			}
		}
	}
}

// lacks says why a fault cannot strike a recipe in the simulation; nil = it can.
func lacks(t *testing.T, lock, fault string) *nemesis.Unsupported {
	t.Helper()
	c := campaign.DefaultConfig()
	c.Testbed, c.Locks, c.Faults, c.Trials = "sim", []string{lock}, []string{fault}, 1
	p, err := campaign.NewPlanning(sim.New(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(t.Context(), sim.New()); err != nil {
		t.Fatal(err)
	}
	_, lack, err := p.Trials(fault)
	if err != nil {
		t.Fatal(err)
	}
	return lack
}

// elsewhere are causes that no trial of the corpus and no recorded trial shows, each with a test that
// shows it.
var elsewhere = map[string]string{
	"long-lease":   "campaign/mutants: mutant-life-in-milliseconds-for-seconds",
	"starved":      "locktest: TestScene, lostWakeup",
	"left-free":    "locktest/strangers: the table",
	"cross-slot":   "checker: the tests of clusters; the simulation has no Redis Cluster",
	"runaway":      "testbed/sim and trial/worker: such a trial ends its process",
	"unclassified": "it is no cause, but the lack of one",
}

// Each cause that the checker knows, and each assumption that leases rest on, is shown by a trial of the
// corpus, or by a test that elsewhere names.
func TestTheCorpusHasEveryCauseAndAssumption(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := corpus.ReadRecorded(filepath.Join("..", "..", filepath.FromSlash(corpus.RecordedList)))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recorded {
		list = append(list, r.Line)
	}
	about := regexp.MustCompile(` by ([^,:]+)(?:.*: broken (.*))?`)
	shown := map[string]bool{}
	for _, l := range list {
		for _, f := range l.Facts() {
			if m := about.FindStringSubmatch(f); m != nil {
				shown[m[1]], shown[m[2]] = true, true
			}
		}
	}
	var all []string
	for _, c := range checker.Causes() {
		all = append(all, string(c))
	}
	for _, p := range account.Premises() {
		all = append(all, string(p))
	}
	for _, what := range all {
		if test, ok := elsewhere[what]; shown[what] == ok {
			t.Errorf("%s: shown by the corpus: %v; named as shown elsewhere: %v (%s)", what, shown[what], ok, test)
		}
	}
}
