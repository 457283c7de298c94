package strangers

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/nemesis"
)

// tally collects the verdicts on a subject.
type tally struct {
	subject string
	trials  int
	answers []answer
	sizes   map[string]int // the operations and commands of each trial, by its line in the list
	// deviations lists the differences between the verdicts and the table, as deviate returns them.
	deviations []string
}

// answer is one oracle's verdict on one trial.
type answer struct {
	seeded
	checker.Verdict
}

func (a answer) causes() []checker.Cause {
	var all []checker.Cause
	for _, f := range a.Findings {
		all = append(all, f.Cause)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// forever reports whether the oracle found a client that is blocked for ever by that cause.
func (a answer) forever(cause checker.Cause) bool {
	return slices.ContainsFunc(a.Findings, func(f checker.Finding) bool { return f.Cause == cause && f.Forever })
}

func (t *tally) add(s seeded, verdicts []checker.Verdict) {
	t.trials++
	for _, v := range verdicts {
		t.answers = append(t.answers, answer{s, v})
	}
}

// counts counts answers by result, and violations by cause.
type counts struct {
	trials  int
	results map[checker.Result]int
	causes  map[checker.Cause]int
	forever map[checker.Cause]int
}

// count counts an oracle's answers under one fault, or under all faults if fault is "".
func (t *tally) count(oracle, fault string) counts {
	c := counts{results: map[checker.Result]int{}, causes: map[checker.Cause]int{}, forever: map[checker.Cause]int{}}
	for _, a := range t.answers {
		if a.Oracle != oracle || fault != "" && a.Fault != fault {
			continue
		}
		c.trials++
		c.results[a.Result]++
		for _, cause := range a.causes() {
			c.causes[cause]++
			if a.forever(cause) {
				c.forever[cause]++
			}
		}
	}
	return c
}

// resultOrder lists the results in the order of their importance to a reader.
var resultOrder = []checker.Result{checker.Violated, checker.Unknown, checker.Held, checker.NotApplicable}

// String returns a text like "violated 3 (lease-outlived 1; race 2), holds 10".
func (c counts) String() string {
	var parts []string
	for _, r := range resultOrder {
		if n := c.results[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", r, n))
		}
		if r != checker.Violated || c.results[r] == 0 {
			continue
		}
		var why []string
		for _, cause := range slices.Sorted(maps.Keys(c.causes)) {
			text := fmt.Sprintf("%s %d", cause, c.causes[cause])
			if n := c.forever[cause]; n > 0 {
				text += fmt.Sprintf(", %d for ever", n)
			}
			why = append(why, text)
		}
		parts[len(parts)-1] += " (" + strings.Join(why, "; ") + ")"
	}
	return strings.Join(parts, ", ")
}

// String returns a line with the number of trials, and then one for each oracle that applies.
func (t *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d trials", t.subject, t.trials)
	for _, o := range checker.Oracles() {
		if c := t.count(o.Name, ""); c.results[checker.NotApplicable] < c.trials {
			fmt.Fprintf(&b, "\n  %-11s %s", o.Name, c)
		}
	}
	return b.String()
}

// writeTable writes the results of every subject: first in total, then the deviations from the
// table, then fault by fault.
func writeTable(t *testing.T, results []*tally) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "# Each lock in all")
	for _, r := range results {
		if r != nil {
			fmt.Fprintln(&b, r)
		}
	}
	fmt.Fprintln(&b, "\n# What is not as the table says")
	for _, r := range results {
		if r != nil && len(r.deviations) > 0 {
			fmt.Fprintf(&b, "%s\n  %s\n", r.subject, strings.Join(r.deviations, "\n  "))
		}
	}
	fmt.Fprintln(&b, "\n# Each lock by fault")
	for _, r := range results {
		if r == nil {
			continue
		}
		fmt.Fprintln(&b, r.subject)
		for _, f := range nemesis.All() {
			if row := r.row(f.Name); row != "" {
				fmt.Fprintf(&b, "  %-19s %s\n", f.Name, row)
			}
		}
	}
	if err := os.WriteFile(*tableFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// row describes a subject's results under one fault; "" if there were no trials. It names only the
// oracles that found a violation or returned unknown. If there are no such oracles, it says "holds".
func (t *tally) row(fault string) string {
	var parts []string
	trials := 0
	for _, o := range checker.Oracles() {
		c := t.count(o.Name, fault)
		trials = max(trials, c.trials)
		for _, quiet := range []checker.Result{checker.Held, checker.NotApplicable} {
			delete(c.results, quiet)
		}
		if len(c.results) > 0 {
			parts = append(parts, o.Name+": "+c.String())
		}
	}
	if trials == 0 {
		return ""
	}
	return fmt.Sprintf("%4d trials  %s", trials, cmp.Or(strings.Join(parts, " | "), "holds"))
}
