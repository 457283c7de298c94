package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/documents"
	"github.com/lockstorm/lockstorm/trial"
)

// Every replay line of docs/documents.md shows the flaws that its row names, or holds if the row
// names none. -short runs an eighth of the lines.
func TestReplayLinesOfTheDocumentsShowWhatTheySay(t *testing.T) {
	page := readPage(t, "docs/documents.md")
	n, seen := 0, map[string]bool{}
	for _, d := range documents.All() {
		for i, item := range d.Items {
			for _, c := range item.Shown {
				r, ok := c.(documents.Replay)
				if !ok {
					continue
				}
				if !strings.Contains(page, "`"+r.Line()+"`") {
					t.Errorf("docs/documents.md lacks %s (make docs)", r.Line())
				}
				if n++; testing.Short() && n%8 != 0 || seen[r.Line()] && len(r.Shows) == 0 {
					continue
				}
				seen[r.Line()] = true
				t.Run(d.Number(i)+" "+r.Line(), func(t *testing.T) {
					t.Parallel()
					showsWhatItSays(t, r)
				})
			}
		}
	}
	if n == 0 {
		t.Error("no item has a replay line")
	}
}

// showsWhatItSays runs a replay line and checks the flaws that it shows.
func showsWhatItSays(t *testing.T, line documents.Replay) {
	code, stdout, stderr := lockstorm(t, append(strings.Fields(line.Line())[1:], "--json")...)
	if code != campaign.ExitExpected {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var r replayed
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	for _, want := range line.Shows {
		// A line with options beyond a campaign's usual ones may show flaws that the recipe does
		// not declare.
		shown := slices.ContainsFunc(r.Flaws, func(f trial.Flaw) bool {
			return f.Oracle == want.Oracle && f.Cause == want.Cause && (f.Kind != "" || len(line.More) > 0)
		})
		if !shown && !ofProgram(r.Verdicts, want) {
			t.Errorf("it shows %+v, want %s by %s as declared", r.Flaws, want.Oracle, want.Cause)
		}
	}
	if len(line.Shows) == 0 && r.Outcome != trial.Holds {
		t.Errorf("it came out as %s with %+v, want that it holds", r.Outcome, r.Flaws)
	}
}

// ofProgram says whether the verdicts contain the flaw as a flaw of the clients' program, which no
// recipe declares.
func ofProgram(verdicts []checker.Verdict, want documents.Flaw) bool {
	judges := slices.ContainsFunc(checker.Oracles(), func(o checker.Oracle) bool { return o.Name == want.Oracle && o.OfProgram })
	return judges && slices.ContainsFunc(verdicts, func(v checker.Verdict) bool {
		return v.Oracle == want.Oracle && slices.ContainsFunc(v.Findings, func(f checker.Finding) bool { return string(f.Cause) == want.Cause })
	})
}

// The program accepts every lockstorm line of docs/documents.md.
func TestCommandsOfTheDocumentsAreOnesOfTheProgram(t *testing.T) {
	for _, d := range documents.All() {
		for i, item := range d.Items {
			for _, c := range item.Shown {
				switch c := c.(type) {
				case documents.List:
					if !slices.Contains(listingNames(), c.Registry) {
						t.Errorf("%s: %s: expected one of %s", d.Number(i), c.Line(), strings.Join(listingNames(), ", "))
					}
				case documents.Campaign:
					a := app{testbeds: testbeds}
					cmd := a.runCommand()
					if err := cmd.ParseFlags(strings.Fields(c.Line())[2:]); err != nil {
						t.Errorf("%s: %s: %v", d.Number(i), c.Line(), err)
					}
					if _, err := a.choice(c.Testbed); err != nil {
						t.Errorf("%s: %s: %v", d.Number(i), c.Line(), err)
					}
				}
			}
		}
	}
}

func TestAnswerListsAndRunsExperiments(t *testing.T) {
	code, stdout, stderr := lockstorm(t, "answer")
	if code != 0 || stderr != "" {
		t.Errorf("answer: exit code %d, stderr %q", code, stderr)
	}
	for _, e := range documents.Experiments() {
		if !strings.Contains(stdout, e.ID) {
			t.Errorf("answer does not list %s:\n%s", e.ID, stdout)
		}
	}
	code, stdout, stderr = lockstorm(t, "answer", "read-write")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "rw-hash-owners") {
		t.Errorf("answer read-write: exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
	_, stdout, _ = lockstorm(t, "answer", "read-write", "--json")
	var r documents.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Rows) == 0 {
		t.Errorf("answer read-write --json: %d rows, %v", len(r.Rows), err)
	}
}
