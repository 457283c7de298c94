package histories

import (
	"os"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// Case is a history with the results that a test expects for it.
type Case struct {
	Name string
	history.Evidence
	Want []string
}

// kinds maps a kind of lock, as named in a file of cases, to its claims.
var kinds = map[string]history.Claims{
	"a read-write lock": {ReadWrite: true},
	"a reentrant lock":  {Reentrant: true},
}

// Cases reads the cases of a test from a file. A case consists of its name, a Timeline, and lines
// with the expected results. A line "of a read-write lock" or "of a reentrant lock" names the kind
// of lock; without such a line the lock is a mutex.
//
//	# a reader that goes on reading
//	of a read-write lock
//	c0 acquire 1-2 ok mode=read
//	c1 acquire 3-4 ok mode=write
//	=> c1 was granted L for writing …
func Cases(t testing.TB, path string) []Case {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []Case
	for _, text := range strings.Split("\n"+string(file), "\n# ")[1:] {
		all = append(all, caseOf(t, text))
	}
	if len(all) == 0 {
		t.Fatalf("%s: no cases", path)
	}
	return all
}

func caseOf(t testing.TB, text string) Case {
	t.Helper()
	name, text, _ := strings.Cut(text, "\n")
	c := Case{Name: name}
	var timeline []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if want, ok := strings.CutPrefix(line, "=> "); ok {
			c.Want = append(c.Want, want)
			continue
		}
		if kind, ok := strings.CutPrefix(line, "of "); ok {
			if c.Claims, ok = kinds[kind]; !ok {
				t.Fatalf("%s: no kind of lock is called %q", name, kind)
			}
			continue
		}
		timeline = append(timeline, line)
	}
	c.Ops = Timeline(t, strings.Join(timeline, "\n"))
	return c
}
