package lockstorm_test

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lockstorm/lockstorm"

// floors gives each folder its floor; a package has that of the nearest folder around it. A package imports none from
// floors above its own. Folders on one floor do not import each other in a circle.
var floors = map[string]int{
	"": 7, "cmd/lockstorm": 7, "locktest": 7,
	"reports":  6,
	"campaign": 5, "documents": 5,
	"trial":     4,
	"workloads": 3, "nemesis": 3, "testbed/sim": 3, "testbed/live": 3, "testbed/process": 3, "testbed/container": 3,
	"testbed/external": 3, "testbed/foreign": 3, "reports/story": 3, "reports/timeline": 3, "reports/internal/facts": 3,
	"testbed": 2, "checker": 2, "internal/crash": 2,
	"keyspace": 1, "locks": 1,
	"history": 0, "testbed/resp": 0, "reports/internal/svg": 0, "internal": 0,
}

// mostInternal is how many packages may be below internal/, those of other folders included.
const mostInternal = 12

// kit reports whether a package only serves tests, which may come from any floor.
func kit(folder string) bool {
	return strings.HasSuffix(folder, "test") && folder != "locktest" || folder == "checker/histories"
}

// floorOf returns the folder of floors that a package belongs to.
func floorOf(t *testing.T, folder string) string {
	t.Helper()
	for f := folder; ; f = path.Dir(f) {
		if f == "." {
			f = ""
		}
		if _, known := floors[f]; known && (f != "" || folder == "") {
			return f
		}
		if f == "" {
			t.Fatalf("package %s has no floor", folder)
		}
	}
}

func TestPackagesImportNoneFromFloorsAbove(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}\t{{.ImportPath}} {{join .Imports \" \"}}", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var internal []string
	beside := map[string]map[string]bool{} // folders on one floor: who imports whom
	for line := range strings.Lines(string(list)) {
		dir, line, _ := strings.Cut(line, "\t")
		imports := strings.Fields(line)
		// Reading the folder makes go test run this test again when a file of it has changed.
		if _, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimPrefix(strings.TrimPrefix(imports[0], module), "/")
		if slices.Contains(strings.Split(folder, "/"), "internal") {
			internal = append(internal, folder)
		}
		if kit(folder) || strings.HasPrefix(folder, "examples/") || folder == "lab" {
			continue
		}
		own := floorOf(t, folder)
		for _, i := range imports[1:] {
			imported, ours := strings.CutPrefix(i, module+"/")
			if !ours {
				continue
			}
			if kit(imported) {
				t.Errorf("%s imports %s, which only serves tests", folder, imported)
				continue
			}
			its := floorOf(t, imported)
			switch {
			case floors[its] > floors[own]:
				t.Errorf("%s, on floor %d, imports %s on floor %d", folder, floors[own], imported, floors[its])
			case floors[its] == floors[own] && its != own:
				if beside[own] == nil {
					beside[own] = map[string]bool{}
				}
				beside[own][its] = true
			}
		}
	}
	for folder := range beside {
		if circle := wayTo(folder, beside, []string{folder}); circle != nil {
			t.Errorf("folders on one floor import each other in a circle: %q", circle)
		}
	}
	if len(internal) > mostInternal {
		t.Errorf("%d packages below internal/, want at most %d: %q", len(internal), mostInternal, internal)
	}
}

// wayTo returns the folders on a way on which imports lead from the last of way back to the first; nil = there is none.
func wayTo(first string, imports map[string]map[string]bool, way []string) []string {
	for next := range imports[way[len(way)-1]] {
		if next == first {
			return append(way, first)
		}
		if !slices.Contains(way, next) {
			if circle := wayTo(first, imports, append(slices.Clone(way), next)); circle != nil {
				return circle
			}
		}
	}
	return nil
}
