// Package bug tests that Lockstorm finds a fixed bug of a public project in the version that had
// the bug, and no longer finds it in the version that fixed it.
package bug

import (
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/locktest"
)

// Bug is a fixed bug of a public project.
type Bug struct {
	Name     string // the test's name: "redis-py-watch"
	Title    string // the link's text: "redis/redis-py #1031"
	Link     string // the address of the report or of the fix
	FixedIn  string // the commit or version with the fix
	Language string // the project's language
	Story    string // what went wrong, in a sentence or two
	Command  string // the command line, run in examples/history, that finds the bug again; "" = the test of ports

	// Options say what the lock needs or promises: the number of nodes, that it renews its leases,
	// that it reads the wall clock. All other options keep their defaults.
	Options       locktest.Options
	Before, After locktest.Subject

	// Flaw is the violation that shows the bug, as in "exclusion by foreign-delete". Fault is the
	// fault under which the bug shows. Both are empty for a bug that is not found.
	Fault, Flaw string
	// Varies: the bug shows only if one of two goroutines, both ready at the same instant, happens
	// to run first. A run meets such a bug by chance, and the same trial may not show it again. So
	// Missed only logs such a bug, and does not fail the test.
	Varies bool
	// OtherBugsLeft: the fixed version still had other bugs. Otherwise the test fails if it shows any.
	OtherBugsLeft bool
}

// Without a flag, only the trial runs that the list names (trialOf).
var (
	// whole runs all faults, as for a lock that nobody has tested yet.
	whole = flag.Bool("whole", false, "run all faults, and not just the trial that shows the bug")
	// fault runs all trials of the fault that shows the bug. It prints the list's line of the bug.
	fault = flag.Bool("fault", false, "run all trials of the fault that shows the bug, and not just one")
)

//go:embed trials.txt
var list string

// trialOf returns the trial that the list trials.txt names for a bug: the smallest that shows it, such
// as "mutex/hold-2of3". scripts/test-history trials writes the list.
func trialOf(bug string) (string, error) {
	for line := range strings.Lines(list) {
		if name, trial, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == bug {
			return trial, nil
		}
	}
	return "", fmt.Errorf("trials.txt names no trial for %s: scripts/test-history trials writes it", bug)
}

// Test fails unless Lockstorm finds the bug in Before and does not find it in After.
func (b Bug) Test(t *testing.T) {
	var row string
	var left []string
	t.Run("before", func(t *testing.T) { row = b.Found(t) })
	t.Run("after", func(t *testing.T) { left = b.Gone(t) })
	if *whole && !t.Failed() {
		b.print(row, left)
	}
}

// Found fails the test unless Before has the bug. It returns the measured columns of the table in
// README.md: trials until the bug was found, seconds of all trials, fault, flaw.
func (b Bug) Found(t *testing.T) string {
	r, trials := b.check(t, b.Before), 0
	for _, f := range r.Faults {
		trials += f.Trials
		if i := slices.Index(flaws(f), b.Flaw); f.Fault == b.Fault && i >= 0 {
			t.Log(f.Violation)
			if *fault {
				fmt.Printf("TRIAL %s %s\n", b.Name, f.Violation.Flaws[i].Replay)
			}
			return fmt.Sprintf("%d of %d | %.0f s | `%s` | %s", trials, r.Trials, r.Elapsed.Seconds(), b.Fault, b.Flaw)
		}
	}
	t.Errorf("%s is not found under %s", b.Flaw, b.Fault)
	return ""
}

// Gone fails the test if After has the bug. Unless OtherBugsLeft is set, it also fails the test if
// After has other bugs under the faults that run. It returns the bugs that After shows.
func (b Bug) Gone(t *testing.T) (left []string) {
	for _, f := range b.check(t, b.After).Faults {
		for _, flaw := range flaws(f) {
			if f.Fault == b.Fault && flaw == b.Flaw || !b.OtherBugsLeft {
				t.Errorf("under %s the fixed version has %s:\n%v", f.Fault, flaw, f.Violation)
			}
			left = append(left, flaw)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// Missed is the test of a bug that Lockstorm is known not to find. It runs only with -whole. Unless
// Varies is set, it fails the test if Before shows a flaw that After does not show under the same
// fault: the bug then belongs in the table of found bugs.
func (b Bug) Missed(t *testing.T) {
	if !*whole {
		t.Skip("only all faults show that a bug is not found: go test -whole")
	}
	after := b.check(t, b.After)
	for i, f := range b.check(t, b.Before).Faults {
		for _, flaw := range flaws(f) {
			switch {
			case slices.Contains(flaws(after.Faults[i]), flaw):
			case b.Varies:
				t.Logf("met this time: %s under %s:\n%v", flaw, f.Fault, f.Violation)
			default:
				t.Errorf("it is found after all: %s under %s:\n%v", flaw, f.Fault, f.Violation)
			}
		}
	}
	if !t.Failed() {
		fmt.Printf("MISSED | %s | %s | %s |\n", b.link(), b.Language, b.Story)
	}
}

// flaws returns the violations that were found under a fault, without the limits of any lease.
func flaws(f locktest.FaultResult) (texts []string) {
	if f.Violation != nil {
		for _, flaw := range f.Violation.Flaws {
			texts = append(texts, flaw.String())
		}
	}
	return texts
}

func (b Bug) check(t *testing.T, subject locktest.Subject) *locktest.Result {
	t.Helper()
	o := b.Options
	if !*whole {
		o.Faults = []string{b.Fault}
	}
	if !*whole && !*fault {
		var err error
		if o.Replay, err = trialOf(b.Name); err != nil {
			t.Fatal(err)
		}
	}
	r, err := locktest.Check(t.Context(), subject, o)
	if errors.Is(err, locktest.ErrNoTrial) { // the fixed version may send other commands
		t.Logf("%v: all trials of the fault run", err)
		o.Replay = ""
		r, err = locktest.Check(t.Context(), subject, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Faults {
		if len(f.Errors) > 0 {
			t.Errorf("%s: %d trials could not be judged: %s", f.Fault, len(f.Errors), f.Errors[0])
		}
		t.Logf("%s: %s; %q", f.Fault, f.Summary(), flaws(f))
	}
	return r
}

// Print writes the bug's row of the table in README.md, if all faults ran.
func (b Bug) Print(measured string) {
	if *whole {
		b.print(measured, nil)
	}
}

func (b Bug) print(measured string, left []string) {
	story := b.Story
	if len(left) > 0 {
		story += " The fixed version still had " + strings.Join(left, ", ") + "."
	}
	command := cmp.Or(b.Command, "cd ports && go test -v -run /"+b.Name+" .")
	fmt.Printf("ROW | %s | %s | %s | %s | `%s` |\n", b.link(), b.Language, measured, story, command)
}

func (b Bug) link() string {
	return fmt.Sprintf("`%s`: [%s](%s), fixed in %s", b.Name, b.Title, b.Link, b.FixedIn)
}
