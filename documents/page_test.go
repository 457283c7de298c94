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

	"github.com/lockstorm/lockstorm/testbed/sim"
)

// sampled are the experiments that run with -short.
var sampled = []string{unique.ID, clocks.ID, readWriteTable.ID}

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
		var section bytes.Buffer
		writeTable(&section, r)
		if !strings.Contains(string(committed), section.String()) {
			t.Errorf("docs/documents.md lacks the table of %s (make docs):\n%s", id, section.String())
		}
	}
	if testing.Short() {
		t.Log("long: make thorough compares the tables of all experiments, and the rest of the page")
		return
	}
	got, want := strings.Split(string(committed), "\n"), strings.Split(string(Page(results)), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("docs/documents.md:%d is not what the data says (make docs)\ngot  %s\nwant %s", i+1, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("docs/documents.md has %d lines, expected %d (make docs)", len(got), len(want))
	}
}

// Every figure that an item names is a sentence of its experiment (Result.Says). Every such sentence is
// named by an item. With -short, the test covers only the sampled experiments.
func TestItemsNameFiguresOfExperiments(t *testing.T) {
	asked := map[string][]string{}
	eachItem(t, func(t *testing.T, item Item) {
		for _, c := range item.Shown {
			m, ok := c.(Measured)
			if !ok {
				continue
			}
			asked[m.Experiment] = append(asked[m.Experiment], m.Figure)
			if _, ok := ByID(m.Experiment); !ok {
				t.Errorf("there is no experiment %q", m.Experiment)
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
			t.Errorf("items ask %s for the figures %q, it gives %q", id, got, want)
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
	for _, e := range []Experiment{unique, clocks} {
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
