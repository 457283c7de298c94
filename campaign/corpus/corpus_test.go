package corpus_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/trial"
)

func TestALineThatCannotBeUsedIsNamedWithItsFile(t *testing.T) {
	const good = `{"lock":"setnx","fault":"none","workload":"mutex","schedule":"x","for":["outcome holds"]}`
	for name, test := range map[string]struct{ text, says string }{
		"no JSON":            {good + "\nsetnx under none", "setnx.jsonl:2: expected a trial as a line of JSON"},
		"an unknown field":   {`{"lock":"setnx","faults":"none"}`, `setnx.jsonl:1: expected a trial as a line of JSON: json: unknown field "faults"`},
		"a name is missing":  {`{"lock":"setnx","fault":"none","for":[]}`, "setnx.jsonl:1: expected the names of a lock, a fault and a workload"},
		"drawn and named":    {`{"lock":"setnx","fault":"none","workload":"mutex","schedule":"x","seed":3,"for":[]}`, "setnx.jsonl:1: expected a schedule, or a seed"},
		"a negative number":  {`{"lock":"setnx","fault":"none","workload":"mutex","trial":-3,"for":[]}`, "setnx.jsonl:1: seed 0, trial -3: expected"},
		"an empty line":      {good + "\n\n", "setnx.jsonl:2: expected a trial as a line of JSON: the line is empty"},
		"another recipe's":   {strings.Replace(good, `"setnx"`, `"redlock"`, 1), "setnx.jsonl:1: a trial of redlock in the list of setnx"},
		"more than a line":   {good + " <<<", "setnx.jsonl:1: expected a trial as a line of JSON: there is more after it"},
		"neither kind":       {`{"lock":"setnx","fault":"delay","workload":"mutex","trial":3,"for":["outcome holds"]}`, "setnx.jsonl:1: expected a schedule or a seed"},
		"no facts":           {`{"lock":"setnx","fault":"delay","workload":"mutex","schedule":"x","for":[]}`, "setnx.jsonl:1: expected facts"},
		"a short hash":       {`{"lock":"setnx","fault":"delay","workload":"mutex","schedule":"x","hash":"0123","operations":["release ok"]}`, `setnx.jsonl:1: hash "0123": expected 16 digits`},
		"too many to draw":   {`{"lock":"setnx","fault":"delay","workload":"mutex","schedule":"x","for":["outcome holds"],"draw":1000}`, "setnx.jsonl:1: draw 1000: expected at most 900"},
		"the same trial two": {good + "\n" + good, "setnx.jsonl:2: setnx under none (mutex), x is already in setnx.jsonl:1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := corpus.Read(fstest.MapFS{"setnx.jsonl": {Data: []byte(test.text)}})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
}

func TestAListThatIsWrittenReadsBackTheSame(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(l corpus.Line) bool { return l.Lock != "redlock" })
	text, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := corpus.Read(fstest.MapFS{"redlock.jsonl": {Data: text}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Marshal()
	if err != nil || string(second) != string(text) || len(list) == 0 {
		t.Errorf("the list of %d changes when it is read and written again (%v)", len(list), err)
	}
}

// The chosen trials show all facts of all candidates, no chosen trial could be left out, and named
// trials come before drawn ones, in whatever order the candidates come.
func TestChosenTrialsShowEveryFact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := []string{"exclusion by race, bug", "resource by race, bug", "liveness by no-expiry, bug, for ever", "exclusion by race: broken in-time", "outcome violated bug"}
		var all []corpus.Candidate
		for i := range rapid.IntRange(1, 12).Draw(t, "trials") {
			c := corpus.Candidate{
				Line: corpus.Line{Lock: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "lock"), Fault: rapid.SampledFrom([]string{"none", "delay"}).Draw(t, "fault"), Workload: "mutex"},
				Cost: rapid.IntRange(1, 9).Draw(t, "cost"),
			}
			if c.Line.Trial = i; rapid.Bool().Draw(t, "drawn") {
				c.Line.Seed = 7
			}
			c.Facts = rapid.SliceOfNDistinct(rapid.SampledFrom(facts), 1, 4, rapid.ID[string]).Draw(t, "facts")
			slices.Sort(c.Facts)
			c.Operations = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"acquire ok", "extend fail"}), 0, 2, rapid.ID[string]).Draw(t, "operations")
			all = append(all, c)
		}
		list := corpus.Choose(all)
		of := func(lock, fault, text string) scoped {
			if strings.Contains(text, ": broken ") {
				fault = ""
			}
			return scoped{lock, fault, text}
		}
		shown := map[scoped]int{}
		for _, l := range list {
			for _, text := range l.Facts() {
				shown[of(l.Lock, l.Fault, text)]++
			}
			for _, op := range l.Operations {
				shown[of(l.Lock, l.Fault, op)]++
			}
		}
		named := map[scoped]bool{}
		for _, c := range all {
			for _, text := range c.Facts {
				if shown[of(c.Line.Lock, c.Line.Fault, text)] == 0 {
					t.Fatalf("nothing shows %q of %s under %s", text, c.Line.Lock, c.Line.Fault)
				}
				if c.Line.Seed == 0 {
					named[of(c.Line.Lock, c.Line.Fault, text)] = true
				}
			}
			for _, op := range c.Operations {
				if n := shown[of(c.Line.Lock, c.Line.Fault, op)]; c.Line.Seed == 0 && n != 1 {
					t.Fatalf("%d lines of %s under %s are kept for %q, want 1", n, c.Line.Lock, c.Line.Fault, op)
				}
			}
		}
		for _, l := range list {
			needed := func(text string) bool {
				return shown[of(l.Lock, l.Fault, text)] == 1
			}
			if !slices.ContainsFunc(l.For, needed) && len(l.Operations) == 0 {
				t.Fatalf("%s could be left out", l.Title())
			}
			if l.Seed > 0 && !slices.ContainsFunc(l.For, func(text string) bool { return !named[of(l.Lock, l.Fault, text)] }) {
				t.Fatalf("%s is drawn, though named trials show all of %q", l.Title(), l.For)
			}
		}
		slices.Reverse(all)
		again := corpus.Choose(all)
		a, _ := list.Marshal()
		b, _ := again.Marshal()
		if string(a) != string(b) {
			t.Fatalf("the order of the candidates decides:\n%s\nand\n%s", a, b)
		}
	})
}

// scoped is a fact with the scope in which one trial is enough to show it.
type scoped struct{ lock, fault, text string }

func TestOutcomesAndFlawsAreTold(t *testing.T) {
	r := trial.Result{Outcome: trial.Blocked, Kind: "bug", Flaws: []trial.Flaw{{Oracle: "liveness", Cause: "no-expiry", Kind: "bug", Forever: true}}}
	want := []string{"liveness by no-expiry, bug, for ever", "outcome blocked bug for ever"}
	if got := corpus.Facts(r); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := corpus.FlawKey(want[0]); got != "liveness by no-expiry" || !corpus.IsFlaw(want[0]) || corpus.IsFlaw(want[1]) {
		t.Errorf("the flaw of %q is %q", want[0], got)
	}
}
