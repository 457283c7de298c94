package documents

import (
	"os"
	"path/filepath"
	"regexp"
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
		if d.Title == "" || d.Count("listing") == 0 || d.Count("claim") == 0 || d.Count("scenario") == 0 {
			t.Errorf("%s (%s) has %d listings, %d scenarios and %d claims", d.ID, d.Title, d.Count("listing"), d.Count("scenario"), d.Count("claim"))
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
		if !slices.Contains([]string{"listing", "scenario", "claim"}, item.Kind) {
			t.Errorf("kind %q", item.Kind)
		}
		if !strings.HasSuffix(item.What, ".") || strings.Contains(item.What+item.Answer, "\n") {
			t.Errorf("what the document has is no sentence on one line: %q", item.What)
		}
		measured := slices.ContainsFunc(item.Shown, func(c Command) bool { return len(c.Shows) > 0 && strings.HasPrefix(c.Line, "lockstorm answer ") })
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
		for i, c := range item.Shown {
			if slices.ContainsFunc(item.Shown[:i], func(before Command) bool { return before.Line == c.Line }) {
				t.Errorf("%s is there twice", c.Line)
			}
			words := strings.Fields(c.Line)
			_, measured := c.Experiment()
			if test := testLine.FindStringSubmatch(c.Line); test != nil {
				if !hasTest(t, test[1], test[2]) {
					t.Errorf("%s has no %s", test[1], test[2])
				}
			} else if words[0] != "lockstorm" {
				t.Errorf("%s is no command of the program, and no test", c.Line)
			}
			for i, flag := range words {
				switch flag {
				case "--lock", "--locks":
					if _, ok := locks.ByID(words[i+1]); !ok {
						t.Errorf("there is no recipe %q", words[i+1])
					}
				case "--fault", "--faults":
					if _, ok := nemesis.ByName(words[i+1]); !ok {
						t.Errorf("there is no fault %q", words[i+1])
					}
				case "--workload":
					if _, ok := workloads.ByName(words[i+1]); !ok {
						t.Errorf("there is no workload %q", words[i+1])
					}
				}
			}
			for _, flaw := range c.Shows {
				oracle, cause, _ := strings.Cut(flaw, " by ")
				switch {
				case measured:
				case words[1] != "replay":
					t.Errorf("%s cannot show %q", c.Line, flaw)
				case !slices.ContainsFunc(checker.Oracles(), func(o checker.Oracle) bool { return o.Name == oracle }):
					t.Errorf("there is no oracle %q", oracle)
				case !slices.Contains(checker.Causes(), checker.Cause(cause)):
					t.Errorf("there is no cause %q", cause)
				}
			}
		}
	})
}

// testLine matches the command of a test.
var testLine = regexp.MustCompile(`^go test \./(\S+) -v -run '\^(Test\w+)\$'$`)

// hasTest reports whether the package has the test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
