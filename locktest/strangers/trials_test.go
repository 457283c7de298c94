package strangers

import (
	_ "embed"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

// The list trials.txt names, for each lock, trials that together meet all rows of the table that name no
// trial themselves. With -short the test runs these, so that it misses no row. A run of
//
//	go test ./locktest/strangers -trials
//
// writes the list anew, from all the trials that a run without -short makes. Every row of the table must
// be met in such a run, so there is no row without a trial.
var writeList = flag.Bool("trials", false, "write trials.txt anew: for each lock, few and short trials that meet all rows of the table")

// listFile is the list's path, from the directory of the package.
const listFile = "trials.txt"

//go:embed trials.txt
var listText string

// listed has the lines of the list.
var listed = func() map[string]bool {
	lines := map[string]bool{}
	for line := range strings.Lines(listText) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	return lines
}()

// line returns the line of the list that names the trial for the subject.
func (s subject) line(t seeded) string {
	return strings.Join([]string{s.name, t.Fault, t.Workload, t.number()}, " ")
}

// telling chooses trials for the list: those that meet the most rows which the trials chosen before do not
// meet, and of equals the one with the fewest operations and commands.
func (s subject) telling(results *tally) (lines []string) {
	open := slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.schedule != "" })
	meets := map[string][]answer{} // by line
	var order []string
	for _, a := range results.answers {
		at := s.line(a.seeded)
		if meets[at] == nil {
			order = append(order, at)
		}
		meets[at] = append(meets[at], a)
	}
	met := func(line string) func(row) bool {
		return func(r row) bool { return slices.ContainsFunc(meets[line], r.meets) }
	}
	for len(open) > 0 {
		best, most := "", 0
		for _, line := range order {
			n := len(open) - len(slices.DeleteFunc(slices.Clone(open), met(line)))
			if n > most || n == most && n > 0 && results.sizes[line] < results.sizes[best] {
				best, most = line, n
			}
		}
		if best == "" {
			break // deviate tells which rows no trial meets
		}
		lines, open = append(lines, best), slices.DeleteFunc(open, met(best))
	}
	return lines
}

// writeTrials writes the list.
func writeTrials(t *testing.T, all []subject, results []*tally) {
	t.Helper()
	var lines []string
	for i, s := range all {
		if results[i] != nil {
			lines = append(lines, s.telling(results[i])...)
		}
	}
	slices.Sort(lines)
	if err := os.WriteFile(listFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
