package documents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// eachItem runs a subtest for each item of each document.
func eachItem(t *testing.T, do func(t *testing.T, item Item)) {
	for _, d := range All() {
		for i, item := range d.Items {
			t.Run(d.Number(i), func(t *testing.T) { do(t, item) })
		}
	}
}

// Each document has items of every kind. Each recipe of a document is named by one of the document's
// items.
func TestEveryArticleHasItsItems(t *testing.T) {
	for _, d := range All() {
		if d.Title() == d.ID || d.count(Listing) == 0 || d.count(Claim) == 0 || d.count(Scenario) == 0 {
			t.Errorf("%s (%s) has %d listings, %d scenarios and %d claims", d.ID, d.Title(), d.count(Listing), d.count(Scenario), d.count(Claim))
		}
	}
	for _, r := range locks.All() {
		for _, id := range strings.Split(r.Document, ", ") {
			i := slices.IndexFunc(All(), func(d Document) bool { return d.ID == id })
			if i < 0 { // the source is not one of the documents
				continue
			}
			if !slices.ContainsFunc(All()[i].Items, func(item Item) bool { return slices.Contains(item.Recipes, r.ID) }) {
				t.Errorf("%s comes from %s, but no item there names it", r.ID, id)
			}
		}
	}
}

func TestEveryItemIsAnswered(t *testing.T) {
	eachItem(t, func(t *testing.T, item Item) {
		if !slices.Contains([]Kind{Listing, Scenario, Claim}, item.Kind) {
			t.Errorf("kind %q", item.Kind)
		}
		if !strings.HasSuffix(item.What, ".") || strings.Contains(item.What+item.Answer, "\n") {
			t.Errorf("what the document has is no sentence on one line: %q", item.What)
		}
		measured := slices.ContainsFunc(item.Shown, func(c Command) bool { _, ok := c.(Measured); return ok })
		if len(item.Shown) == 0 || item.Answer == "" && !measured || item.Answer != "" && !strings.HasSuffix(item.Answer, ".") {
			t.Errorf("shown by %d commands, answered by %q", len(item.Shown), item.Answer)
		}
	})
}

func TestItemsNameWhatExists(t *testing.T) {
	eachItem(t, func(t *testing.T, item Item) {
		for _, id := range item.Recipes {
			if _, ok := locks.ByID(id); !ok {
				t.Errorf("there is no recipe %q", id)
			}
		}
		for _, c := range item.Shown {
			switch c := c.(type) {
			case Replay:
				exists(t, c.Lock, c.Fault)
				if _, ok := workloads.ByName(c.Workload); !ok {
					t.Errorf("there is no workload %q", c.Workload)
				}
				for _, f := range c.Shows {
					if !slices.ContainsFunc(checker.Oracles(), func(o checker.Oracle) bool { return o.Name == f.Oracle }) {
						t.Errorf("there is no oracle %q", f.Oracle)
					}
					if !slices.Contains(checker.Causes(), checker.Cause(f.Cause)) {
						t.Errorf("there is no cause %q", f.Cause)
					}
				}
			case Campaign:
				exists(t, c.Lock, c.Fault)
			case Test:
				if !hasTest(t, c) {
					t.Errorf("%s has no %s", c.Package, c.Name)
				}
			}
		}
	})
}

func exists(t *testing.T, lock, fault string) {
	t.Helper()
	if _, ok := locks.ByID(lock); !ok {
		t.Errorf("there is no recipe %q", lock)
	}
	if _, ok := nemesis.ByName(fault); !ok {
		t.Errorf("there is no fault %q", fault)
	}
}

// hasTest reports whether the package has the test.
func hasTest(t *testing.T, test Test) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", test.Package, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "\nfunc "+test.Name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
