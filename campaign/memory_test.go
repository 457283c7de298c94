package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// remembering returns a campaign of set-nx-px under faults with these lines of one lock as its corpus.
func remembering(t *testing.T, lines string, faults ...string) Campaign {
	t.Helper()
	_, after, _ := strings.Cut(lines, `"lock":"`)
	lock, _, _ := strings.Cut(after, `"`)
	list, err := corpus.Read(fstest.MapFS{lock + ".jsonl": {Data: []byte(lines)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(trialtest.AsWorker, "1")
	c := small(t, "set-nx-px", strings.Join(faults, ","))
	c.Workloads, c.Corpus, c.Parallel = []string{"standard"}, true, 2
	return Campaign{Config: c, Testbed: sim.New(), Worker: []string{os.Args[0]}, Corpus: list, Defaults: Defaults{Trials: 12}}
}

// Lines of a corpus of set-nx-px: a cell without a violation, and one with a violation, of which one
// trial is named and one is drawn.
const (
	cleanLine = `{"lock":"set-nx-px","fault":"client-skew","workload":"mutex","schedule":"touch.back-1of2","for":["outcome holds"]}`
	namedLine = `{"lock":"set-nx-px","fault":"delay","workload":"mutex","schedule":"acquire.n0.1.before.next-1of1","for":["liveness by orphaned-key, limit","outcome blocked limit"]}`
	harmLine  = `{"lock":"set-nx-px","fault":"eviction","workload":"mutex","schedule":"hold.slow-1of2","for":["exclusion by server-lost-key, limit"]}`
	drawnLine = `{"lock":"set-nx-px","fault":"delay","workload":"mutex","seed":777,"trial":3,"for":["outcome holds"]}`
)

func TestTheCorpusRunsFirstAndThenWhatItDoesNotKnow(t *testing.T) {
	c := remembering(t, cleanLine+"\n"+namedLine+"\n"+drawnLine+"\n"+harmLine, "client-skew", "delay", "eviction")
	s := complete(t, c)
	count := func(fault string, is func(trial.Spec) bool) (n int) {
		for _, r := range s.Trials {
			if r.Spec.Fault == fault && is(r.Spec) {
				n++
			}
		}
		return n
	}
	drawn := func(s trial.Spec) bool { return !s.Named() && s.DrawnFrom == 0 }
	taken := func(s trial.Spec) bool { return s.DrawnFrom == 777 && s.Trial == 3 }
	for name, got := range map[string][2]int{
		"clean cell: named":    {count("client-skew", trial.Spec.Named), 1},
		"blocked cell: named":  {count("delay", trial.Spec.Named), 1 + otherNamed},
		"blocked cell: drawn":  {count("delay", drawn), otherDrawn},
		"blocked cell: taken":  {count("delay", taken), 1},
		"violated cell: named": {count("eviction", trial.Spec.Named), 1 + otherNamed},
		"violated cell: drawn": {count("eviction", drawn), otherDrawn},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d trials, want %d", name, got[0], got[1])
		}
	}
	if n := count("client-skew", drawn); n < cleanDrawn {
		t.Errorf("%d drawn trials of a cell without a violation, want %d", n, cleanDrawn)
	}
	for _, cell := range s.Matrix.Cells {
		if cell.Fault == "client-skew" && cell.Bound() > 0.05 {
			t.Errorf("the bound is %.3f, want at most 0.05", cell.Bound())
		}
		if cell.Fault == "delay" && cell.Drawn() > otherDrawn {
			t.Errorf("%d trials count for the bound, want those of this seed only: %d", cell.Drawn(), otherDrawn)
		}
	}
	for _, r := range s.Trials {
		if !r.Probe && drawn(r.Spec) && r.Spec.Trial < firstFresh {
			t.Errorf("%s may have been selected for the corpus", r.Spec.Title())
		}
		if line := replay(s.Info, r); taken(r.Spec) && !strings.Contains(line, "--seed 777 --trial 3") {
			t.Errorf("%s is replayed by %s", r.Spec.Title(), line)
		}
	}
	if s.Matrix.Interrupted || s.Matrix.Planned != s.Matrix.Finished {
		t.Errorf("%d of %d planned trials finished", s.Matrix.Finished, s.Matrix.Planned)
	}
}

// The numbers of the line about the corpus add up to the trials that ran, also where the cell without a fault is not
// among the cells, and a drawn trial of the corpus that the campaign's seed draws too runs once.
func TestTheLineAboutTheCorpusAddsUp(t *testing.T) {
	drawn := strings.Replace(drawnLine, `"trial":3`, `"trial":1`, 1)
	for name, c := range map[string]struct {
		trials int
		seed   uint64
		faults []string
	}{
		"with the cell without a fault":        {0, 1, []string{"none", "delay"}},
		"without it":                           {0, 1, []string{"delay"}},
		"a drawn trial of the campaign's seed": {2, 777, []string{"delay"}},
	} {
		t.Run(name, func(t *testing.T) {
			campaign := remembering(t, namedLine+"\n"+drawn, c.faults...)
			campaign.Config.Trials, campaign.Config.Seed = c.trials, c.seed
			s := complete(t, campaign)
			line, _, _ := strings.Cut(s.Info.CorpusLines()[0], " drawn by seed")
			sum := 0
			for _, digits := range regexp.MustCompile(`\d+`).FindAllString(line, -1) {
				n, _ := strconv.Atoi(digits) // it has nothing but digits
				sum += n
			}
			if sum != len(s.Trials) {
				t.Errorf("%d trials ran, but it says %q", len(s.Trials), line)
			}
		})
	}
}

func TestAFactThatDoesNotComeOutIsTold(t *testing.T) {
	c := remembering(t, strings.Replace(cleanLine, "outcome holds", "exclusion by race, bug", 1), "client-skew")
	s := complete(t, c)
	want := LostFact{"set-nx-px", "client-skew", "mutex", "schedule touch.back-1of2", "exclusion by race, bug"}
	if !slices.Equal(s.Matrix.Lost, []LostFact{want}) {
		t.Errorf("lost: %+v, want %+v", s.Matrix.Lost, want)
	}
	if code := s.Matrix.ExitCode(false); code != ExitExpected {
		t.Errorf("exit code %d without --expect, want %d", code, ExitExpected)
	}
	if code := s.Matrix.ExitCode(true); code != ExitUnexpected {
		t.Errorf("exit code %d with --expect, want %d", code, ExitUnexpected)
	}
}

func TestAFlawThatTheCorpusDoesNotHaveIsTold(t *testing.T) {
	c := remembering(t, strings.Replace(namedLine, "liveness by orphaned-key, limit", "exclusion by race, bug", 1), "delay")
	s := complete(t, c)
	if len(s.Matrix.New) != 1 || s.Matrix.New[0].Oracle != "liveness" || s.Matrix.New[0].Cause != "orphaned-key" {
		t.Errorf("new: %+v, want liveness by orphaned-key", s.Matrix.New)
	}
}

// A recipe that was changed after its lines were made may do something new in trials that the corpus did not
// select: every named schedule runs.
func TestARecipeThatChangedAfterTheCorpusWasMadeIsTold(t *testing.T) {
	const other = `"hash":"0123456789abcdef","for"`
	// The trials are few: a cell with a violation draws three.
	said := func(line string) (Stored, string) {
		c := remembering(t, line, "eviction")
		c.Config.Expect = true
		s := complete(t, c)
		return s, strings.Join(s.Info.ChangedLines(s.Matrix.Changed), "; ")
	}
	s, says := said(strings.Replace(harmLine, `"for"`, other, 1))
	if want := []Changed{{Lock: "set-nx-px", Trials: 1}}; !slices.Equal(s.Matrix.Changed, want) || !strings.Contains(says, "; every named schedule of set-nx-px ran; ") {
		t.Errorf("changed: %+v, want %+v; it says %q", s.Matrix.Changed, want, says)
	}
	if code := s.Matrix.ExitCode(true); code == ExitExpected {
		t.Error("with --expect, a changed recipe is as expected")
	}
	if s.Matrix.Planned != s.Matrix.Finished || s.Matrix.Interrupted {
		t.Errorf("%d of %d planned trials finished", s.Matrix.Finished, s.Matrix.Planned)
	}
	whole, named := 0, 0
	for _, p := range s.Info.Plan {
		whole += p.Named
	}
	for _, r := range s.Trials {
		if r.Spec.Named() {
			named++
		}
	}
	if named != whole || named <= 1+otherNamed {
		t.Errorf("%d named trials ran, want all %d", named, whole)
	}
	for _, r := range s.Trials {
		if !r.Changed {
			continue
		}
		same := fmt.Sprintf(`"hash":%q,"for"`, r.Hash[:corpus.HashDigits])
		if s, says := said(strings.Replace(harmLine, `"for"`, same, 1)); s.Matrix.Changed != nil || says != "" {
			t.Errorf("the same history: changed: %+v; it says %q", s.Matrix.Changed, says)
		}
	}
}

// The schedules of a recipe whose fault-free trials have changed may be others: every named schedule runs, and a line
// whose schedule is gone refuses nothing.
func TestARecipeWhoseFaultFreeTrialsHaveChangedRunsEverySchedule(t *testing.T) {
	const probe = `{"lock":"set-nx-px","fault":"none","workload":"mutex","hash":"0123456789abcdef","for":["outcome holds"]}`
	gone := strings.Replace(cleanLine, "touch.back-1of2", "touch.up-1of2", 1)
	c := remembering(t, probe+"\n"+gone, "none", "client-skew")
	s := complete(t, c)
	if want := []Changed{{"set-nx-px", 1, 1}}; !slices.Equal(s.Matrix.Changed, want) {
		t.Errorf("changed: %+v, want %+v", s.Matrix.Changed, want)
	}
	for _, p := range s.Info.Plan {
		if p.Skipped > 0 || p.Fault == "client-skew" && p.Unlisted == 0 {
			t.Errorf("%s: %d named schedules run and %d are left out, want all to run", p.Fault, p.Unlisted, p.Skipped)
		}
	}
	drawn := 0
	for _, r := range s.Trials {
		if r.Spec.Fault == "none" && !r.Probe && !r.Spec.Named() {
			drawn++
		}
	}
	for _, cell := range s.Matrix.Cells {
		if cell.Fault == "none" && (cell.Drawn() != drawn || drawn == 0) {
			t.Errorf("the bound counts %d trials, want the %d that this seed drew, without probes", cell.Drawn(), drawn)
		}
	}
	if says := strings.Join(s.Info.ChangedLines(s.Matrix.Changed), "; "); !strings.Contains(says, "the corpus chose nothing of set-nx-px, and every named schedule ran; which: lockstorm corpus diff --histories --locks set-nx-px; once the change is as it should be, write the lists anew: lockstorm corpus make --locks set-nx-px") {
		t.Errorf("it says %q", says)
	}
	said, err := c.Say(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 2 || said[0].Err != nil || said[1].Err == nil || !strings.Contains(said[1].Err.Error(), "it has no such trial any more") {
		t.Errorf("corpus diff says %+v", said)
	}
	c.Config.Faults = []string{"delay"}
	if _, err := c.Say(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the corpus has no trial of set-nx-px under delay") {
		t.Errorf("without a line: got %v", err)
	}
}

func TestALineOfWhatDoesNotExistRefusesTheRun(t *testing.T) {
	for _, test := range []struct{ was, is, says string }{
		{"touch.back-1of2", "touch.up-1of2", `set-nx-px.jsonl:1: there is no such trial: set-nx-px under client-skew (mutex), touch.up-1of2`},
		{`"lock":"set-nx-px"`, `"lock":"set-nx-py"`, `set-nx-py.jsonl:1: there is no lock "set-nx-py"`},
		{"client-skew", "client-skip", `set-nx-px.jsonl:1: there is no fault "client-skip"`},
		{"mutex", "mutes", `set-nx-px.jsonl:1: there is no workload "mutes"`},
		{"mutex", "read-write", `set-nx-px.jsonl:1: there is no such trial: set-nx-px under client-skew (read-write)`},
	} {
		c := remembering(t, strings.Replace(cleanLine, test.was, test.is, 1), "client-skew")
		_, err := c.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("got %v, want it to say %q", err, test.says)
		}
		if left, _ := filepath.Glob(filepath.Join(c.Config.Store, c.Config.Name, "*")); len(left) > 0 {
			t.Errorf("%s: the refused run left %q", test.is, left)
		}
	}
}

// With other options, named lines are planned anew and drawn lines left out; a recipe without lines
// runs every named schedule.
func TestOtherOptionsPlanTheCorpusAnew(t *testing.T) {
	c := remembering(t, cleanLine+"\n"+namedLine+"\n"+drawnLine, "delay")
	c.Config.Clients = 2
	s := complete(t, c)
	if slices.ContainsFunc(s.Trials, func(r trial.Result) bool { return r.Spec.DrawnFrom > 0 }) {
		t.Error("a drawn trial of the corpus ran with other options")
	}
	if len(s.Matrix.Lost)+len(s.Matrix.New) > 0 || !s.Info.Adapted {
		t.Errorf("facts are expected of other options: %+v, %+v", s.Matrix.Lost, s.Matrix.New)
	}
	const says = "a recipe that has changed since the corpus was made is not noticed; it is with the defaults: lockstorm run --locks set-nx-px --faults delay"
	if lines := strings.Join(s.Info.CorpusLines(), "\n"); !strings.HasSuffix(lines, says) {
		t.Errorf("it says %q, want it to end with %q", lines, says)
	}
	mine, _ := locks.ByID("set-nx-px")
	mine.ID, mine.Own = "test-mine", true
	locks.Register(mine)
	defer locks.Unregister(mine.ID)
	s.Info.Config.Locks = []string{mine.ID}
	if lines := strings.Join(s.Info.CorpusLines(), "\n"); strings.Contains(lines, "not the defaults") {
		t.Errorf("of a lock that no corpus can have it says %q", lines)
	}
	c = remembering(t, cleanLine, "delay")
	c.Config.Locks, c.Config.Store = []string{"setnx"}, t.TempDir()
	s = complete(t, c)
	c.Config.Corpus, c.Config.Named, c.Config.Store = false, true, t.TempDir()
	whole := complete(t, c)
	if len(s.Trials) != len(whole.Trials) {
		t.Errorf("a recipe without lines ran %d trials, want all %d", len(s.Trials), len(whole.Trials))
	}
}
