package cli

import (
	"regexp"
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
				if !strings.HasPrefix(c.Line, "lockstorm replay ") {
					continue
				}
				if !strings.Contains(page, "`"+c.Line+"`") {
					t.Errorf("docs/documents.md lacks %s (make docs)", c.Line)
				}
				if n++; testing.Short() && n%8 != 0 || seen[c.Line] && len(c.Shows) == 0 {
					continue
				}
				seen[c.Line] = true
				t.Run(d.Number(i)+" "+c.Line, func(t *testing.T) {
					t.Parallel()
					showsWhatItSays(t, c)
				})
			}
		}
	}
	if n == 0 {
		t.Error("no item has a replay line")
	}
}

// moreFlags are flags beyond a campaign's usual options.
var moreFlags = regexp.MustCompile(`--(clients|lock-tokens|overrun|ttl) `)

// replayedBy runs a replay line of a page.
func replayedBy(t *testing.T, line string) replayed {
	t.Helper()
	r, code, stderr := jsonOf[replayed](t, strings.Fields(strings.ReplaceAll(line, "'", ""))[1:]...)
	if code != campaign.ExitExpected {
		t.Fatalf("%s: exit code %d: %s", line, code, stderr)
	}
	return r
}

// showsWhatItSays runs a replay line and checks the flaws that it shows.
func showsWhatItSays(t *testing.T, line documents.Command) {
	r := replayedBy(t, line.Line)
	for _, want := range line.Shows {
		oracle, cause, _ := strings.Cut(want, " by ")
		// A line with options beyond a campaign's usual ones may show flaws that the recipe does
		// not declare.
		shown := slices.ContainsFunc(r.Flaws, func(f trial.Flaw) bool {
			return f.Oracle == oracle && f.Cause == cause && (f.Kind != "" || moreFlags.MatchString(line.Line))
		})
		if !shown && !ofProgram(r.Verdicts, oracle, cause) {
			t.Errorf("it shows %+v, want %s as declared", r.Flaws, want)
		}
	}
	if len(line.Shows) == 0 && r.Outcome != trial.Holds {
		t.Errorf("it came out as %s with %+v, want that it holds", r.Outcome, r.Flaws)
	}
}

// ofProgram says whether the verdicts contain the flaw as a flaw of the clients' program, which no
// recipe declares.
func ofProgram(verdicts []checker.Verdict, oracle, cause string) bool {
	judges := slices.ContainsFunc(checker.Oracles(), func(o checker.Oracle) bool { return o.Name == oracle && o.OfProgram })
	return judges && slices.ContainsFunc(verdicts, func(v checker.Verdict) bool {
		return v.Oracle == oracle && slices.ContainsFunc(v.Findings, func(f checker.Finding) bool { return string(f.Cause) == cause })
	})
}

// The program accepts every lockstorm line of docs/documents.md.
func TestCommandsOfTheDocumentsAreOnesOfTheProgram(t *testing.T) {
	for _, d := range documents.All() {
		for i, item := range d.Items {
			for _, c := range item.Shown {
				words := strings.Fields(c.Line)
				switch strings.Join(words[:2], " ") {
				case "lockstorm list":
					if !slices.Contains(listingNames(), words[2]) {
						t.Errorf("%s: %s: expected one of %s", d.Number(i), c.Line, strings.Join(listingNames(), ", "))
					}
				case "lockstorm run":
					a := &app{testbeds: testbeds}
					cmd := runCommand(a)
					if err := cmd.ParseFlags(words[2:]); err != nil {
						t.Errorf("%s: %s: %v", d.Number(i), c.Line, err)
					}
					if _, err := a.testbeds.choice(cmd.Flag("testbed").Value.String()); err != nil {
						t.Errorf("%s: %s: %v", d.Number(i), c.Line, err)
					}
				case "lockstorm replay", "lockstorm answer", "go test":
				default:
					t.Errorf("%s: %s is no command of the page", d.Number(i), c.Line)
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
	if r, _, _ := jsonOf[documents.Result](t, "answer", "read-write"); len(r.Rows) == 0 {
		t.Error("answer read-write --json: no rows")
	}
}
