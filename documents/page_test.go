package documents

import (
	"bytes"
	"context"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// sampled are the experiments that run with -short.
var sampled = []string{"unique-value", "clock-allowance", "read-write"}

// fresh runs all experiments once, for all tests; with -short only the sampled experiments.
var fresh = sync.OnceValues(func() (map[string]Result, error) {
	results := map[string]Result{}
	for _, e := range Experiments() {
		if testing.Short() && !slices.Contains(sampled, e.ID) {
			continue
		}
		r, err := e.Run(context.Background(), sim.New(), PageSeed)
		if err != nil {
			return nil, err
		}
		results[e.ID] = r
	}
	return results, nil
})

// The committed page is equal to the page made from the items and the figures of a fresh run.
// `make docs` makes the page anew. With -short, the test compares only the tables of sampled
// experiments.
func TestPageIsCurrent(t *testing.T) {
	committed, err := os.ReadFile("../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	results, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range results {
		if table := r.markdown(); !strings.Contains(string(committed), table) {
			t.Errorf("docs/documents.md lacks the table of %s (make docs):\n%s", id, table)
		}
	}
	if testing.Short() {
		t.Log("long: make thorough compares the tables of all experiments, and the rest of the page")
		return
	}
	made, err := page(results)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(string(committed), "\n"), strings.Split(string(made), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("docs/documents.md:%d is not what the data says (make docs)\ngot  %s\nwant %s", i+1, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("docs/documents.md has %d lines, expected %d (make docs)", len(got), len(want))
	}
}

// Every sentence that an item names is one of its experiment (Result.Says). Every such sentence is
// named by an item. With -short, the test covers only the sampled experiments.
func TestItemsNameFiguresOfExperiments(t *testing.T) {
	asked := map[string][]string{}
	eachItem(t, func(t *testing.T, item Item) {
		for _, c := range item.Shown {
			id, ok := c.Experiment()
			if !ok {
				continue
			}
			asked[id] = append(asked[id], c.Shows...)
			if _, ok := ByID(id); !ok {
				t.Errorf("there is no experiment %q", id)
			}
		}
	})
	results, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range results {
		slices.Sort(asked[id])
		if got, want := slices.Compact(asked[id]), slices.Sorted(maps.Keys(r.Says)); !slices.Equal(got, want) {
			t.Errorf("items ask %s for the sentences %q, it gives %q", id, got, want)
		}
	}
}

func TestExperimentsFillTheirTables(t *testing.T) {
	for _, e := range Experiments() {
		if e.Asks == "" || e.How == "" || strings.ContainsAny(e.ID+e.Asks+e.How+e.OnRedis, "|\n") {
			t.Errorf("%s: its texts are missing, or break the page", e.ID)
		}
	}
	results, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range results {
		for _, row := range r.Rows {
			if len(row) != len(r.Columns) || slices.Contains(row, "") {
				t.Errorf("%s: the row %q does not fill the columns %q", id, row, r.Columns)
			}
		}
	}
}

func TestTheSeedDecidesTheFigures(t *testing.T) {
	for _, id := range []string{"unique-value", "clock-allowance"} {
		e, _ := ByID(id)
		var results []Result
		for _, seed := range []uint64{3, 3, 4} {
			r, err := e.Run(t.Context(), sim.New(), seed)
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Errorf("%s with seed 3 gives\n%v\nand then\n%v", e.ID, results[0], results[1])
		}
		if reflect.DeepEqual(results[0], results[2]) {
			t.Errorf("%s gives the same with seeds 3 and 4:\n%v", e.ID, results[0])
		}
	}
}

func TestAnExperimentWithARecipeThatIsMissingFails(t *testing.T) {
	_, err := measure(t.Context(), sim.New(), settings{Lock: "no-such-lock"}, 1)
	if err == nil || !strings.Contains(err.Error(), `"no-such-lock"`) {
		t.Errorf("got %v, want an error that names the recipe", err)
	}
}

// A misspelt setting would leave the usual one in force. A misspelt figure would fail only in a long run.
func TestExperimentsNameSettingsAndFiguresThatExist(t *testing.T) {
	some := run{recipe: locks.All()[0]}
	of := func(...string) (figures, error) {
		f := some.figures()
		f["text"] = ""
		return f, nil
	}
	for _, e := range Experiments() {
		withs := []yaml.Node{e.With}
		for _, row := range e.Rows {
			withs = append(withs, row.With)
		}
		texts := slices.Collect(maps.Values(e.Says))
		for _, c := range e.Columns {
			withs, texts = append(withs, c.With), append(texts, c.Shows)
		}
		for _, text := range texts {
			if _, err := some.figures().render(text, template.FuncMap{"of": of}); err != nil {
				t.Errorf("%s: %v", e.ID, err)
			}
		}
		for _, with := range withs {
			text, err := yaml.Marshal(&with)
			if err != nil {
				t.Fatal(err)
			}
			in := yaml.NewDecoder(bytes.NewReader(text))
			in.KnownFields(true)
			if err := in.Decode(new(settings)); err != nil && !with.IsZero() {
				t.Errorf("%s: %s: %v", e.ID, text, err)
			}
		}
	}
}

func TestSentencesTakeTheFiguresOfAllRunsThatTheyName(t *testing.T) {
	tried := func(n int, took time.Duration) figures {
		f := figures{"grants": make(series, n), "waits": series{took}}
		if n > 1 {
			f["beside"] = series{time.Second, 2 * time.Second}
		}
		return f
	}
	made := map[settings]figures{{Lock: "a"}: tried(1, time.Millisecond/2), {Lock: "b"}: tried(2, 2*time.Second)}
	cells := []cell{{[]string{"a", "takes"}, settings{Lock: "a"}, "0.5"}, {[]string{"b", "takes"}, settings{Lock: "b"}, "2"}, {[]string{"b", "again"}, settings{Lock: "b"}, "2"}}
	of := template.FuncMap{"of": func(names ...string) (figures, error) { return figuresOf(cells, made, names) }}
	for text, want := range map[string]string{
		`{{len (of "a").grants}} of {{len (of).grants}}`:   "1 of 3",
		`{{ms (of).waits 1.0}}, {{ms (of "a").waits 0.5}}`: "2.0 s, 0.5 ms",
		`{{less (of "a").waits (of "b" "takes").waits}} %`: "100 %",
		`{{(of "b").text}}, {{span (of "b").beside}}`:      "2, 1.0 to 2.0 s",
	} {
		if got, err := (figures{}).render(text, of); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`{{(of "c").text}}`, `{{(of "a" "again").text}}`, `{{(of "a").waitz}}`, `{{`} {
		if got, err := (figures{}).render(text, of); err == nil {
			t.Errorf("%s: got %q, want an error", text, got)
		}
	}
}
