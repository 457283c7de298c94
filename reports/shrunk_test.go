package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

func TestCounterexamplesSayWhereTheyComeFrom(t *testing.T) {
	unfinished := trial.Shrinking{NotShrunk: true, Unfinished: "the time budget of 1s was used up"}
	shrunk := trial.Shrinking{Trials: 41, From: trial.Size{Clients: 3, Ops: 90}, To: trial.Size{Clients: 2, Ops: 12}}
	for _, c := range []struct {
		name    string
		verdict *trial.Shrinking
		minimal *trial.Shrinking
		want    string // origin of the trial as it ran
		small   string // origin of the minimal trial
		other   bool   // the minimal trial shows another flaw
	}{
		{"nobody asked for it", nil, nil, "Not shrunk: the trial as it ran.", "", false},
		{"there was no time", &unfinished, nil, "Not shrunk: the trial as it ran (the time budget of 1s was used up).", "", false},
		{"it was shrunk", nil, &shrunk, "The trial as it ran; a smaller one that shows the same, with its story and verdicts, is in [minimal](minimal/counterexample.md).",
			"Shrunk, in 41 trials, from the trial as it first ran: 3 to 2 clients, 90 to 12 operations.", false},
		{"the corpus had it", nil, &trial.Shrinking{From: shrunk.From, To: shrunk.To}, "The trial as it ran; a smaller one that shows the same, with its story and verdicts, is in [minimal](minimal/counterexample.md).",
			"Shrunk, as the corpus has it, from the trial as it first ran: 3 to 2 clients, 90 to 12 operations.", false},
		{"the smaller one shows another flaw", nil, &shrunk, "The trial as it ran; a smaller one that shows some of its flaws is in [minimal](minimal/counterexample.md).",
			"Shrunk, in 41 trials, from the trial as it first ran: 3 to 2 clients, 90 to 12 operations.", true},
	} {
		dir, trials := storedCampaign(t)
		whole := trials[0]
		stored := func(sample sampleTrial, s *trial.Shrinking) {
			writeLines(t, filepath.Join(dir, sample.Trial.Dir, trial.VerdictFile), []any{map[string]any{
				"outcome": sample.Trial.Outcome, "kind": sample.Trial.Kind, "flaws": sample.Trial.Flaws, "verdicts": sample.Trial.Verdicts, "shrinking": s,
			}})
		}
		stored(whole, c.verdict)
		if c.minimal != nil {
			small, lines := whole, filepath.Join(dir, trial.ResultsFile)
			small.Trial.Dir += "/" + trial.MinimalFolder
			if c.other {
				small.Trial.Flaws = []trial.Flaw{{Oracle: "conduct", Cause: "panic"}}
			}
			before, err := os.ReadFile(lines)
			if err != nil {
				t.Fatal(err)
			}
			storeTrial(t, dir, small)
			stored(small, c.minimal)
			if err := os.WriteFile(lines, before, 0o666); err != nil { // the minimal trial is not in the campaign's list
				t.Fatal(err)
			}
		}
		s, err := campaign.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Report(t.Context(), New); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, whole.Trial.Dir)
		for path, want := range map[string]string{
			filepath.Join(folder, CounterexampleFile):                      c.want,
			filepath.Join(folder, trial.MinimalFolder, CounterexampleFile): c.small,
		} {
			text, err := os.ReadFile(path)
			if want != "" && (err != nil || !strings.Contains(string(text), "\n"+want+"\n")) {
				t.Errorf("%s: %s lacks %q (%v)", c.name, path, want, err)
			}
			told := strings.Contains(string(text), "Which assumption broke") && strings.Contains(string(text), "## In order")
			if want != "" && told != (want == c.small || c.small == "" || c.other) {
				t.Errorf("%s: %s has the story: %t", c.name, path, told)
			}
		}
		page, err := os.ReadFile(filepath.Join(dir, HTMLFile))
		if err != nil {
			t.Fatal(err)
		}
		want := c.small
		if c.other {
			want = "The trial as it ran; a smaller one that shows some of its flaws is in its folder minimal."
		}
		if want != "" && !strings.Contains(string(expanded(t, page)), want) {
			t.Errorf("%s: the page lacks %q", c.name, want)
		}
	}
}

// Reports name the flaws without a shrunk trial, with the reasons.
func TestReportsNameWhatWasNotShrunk(t *testing.T) {
	cell := func(fault string, causes ...string) campaign.Cell {
		c := judged("own", fault)
		c.Verdict, c.Kind, c.Dir = trial.Violated, "bug", "trials/own/"+fault
		for _, cause := range causes {
			c.Causes = append(c.Causes, cause)
			c.Flaws = append(c.Flaws, trial.Flaw{Oracle: "exclusion", Cause: cause, Kind: "bug"})
		}
		return c
	}
	small, big := cell("delay", "race", "late-command"), cell("reset", "foreign-delete")
	small.Minimal = small.Dir + "/" + trial.MinimalFolder
	r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: []campaign.Cell{small, big}}, Details: map[string]detail{
		small.Minimal: {Flaws: small.Flaws[:1], Shrunk: "Shrunk, in 4 trials"},
		big.Dir:       {Flaws: big.Flaws, Shrunk: asItRan, NotShrunk: "the time budget of 1s was used up"},
	}}
	r.Info.Deterministic, r.Info.Config.Shrink = true, 1
	const count = "the trials of 1 of 2 violated cells; not shrunk, since the time budget of 1s was used up: own under reset (foreign-delete)"
	for format, text := range map[string]string{"html": formats(t, r)["html"], "md": string(summaryReport(r))} {
		if !strings.Contains(text, count) {
			t.Errorf("%s: it lacks %q", format, count)
		}
	}
	if got, want := r.shrunkWords(small, small.Minimal), "Shrunk, in 4 trials. It does not show exclusion by late-command: not shrunk, since of each cell one trial is shrunk, for its worst flaw"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := r.shrunkWords(big, big.Dir), asItRan+" (the time budget of 1s was used up)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The minimal trial is told if it shows what the cell's verdict rests on, which is of its kind.
	r.Details[small.Dir] = detail{Flaws: small.Flaws, Story: story.Story{Broken: "that"}}
	for kind, want := range map[locks.Kind]string{locks.Bug: small.Minimal, locks.Limit: small.Dir} {
		r.Details[small.Minimal].Flaws[0].Kind, small.Flaws[1].Kind, small.Kind = locks.Bug, locks.Limit, kind
		if got := r.toldDir(small); got != want {
			t.Errorf("a verdict that is a %s: the story is of %q, want %q", kind, got, want)
		}
	}
	r.Info.Config.Shrink = 0
	r.Details[big.Dir] = detail{Shrunk: asItRan}
	if got, want := r.shrunkWords(big, big.Dir), asItRan+" (the run had --shrink 0)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
