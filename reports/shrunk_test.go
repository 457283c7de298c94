package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

func TestCounterexamplesSayWhereTheyComeFrom(t *testing.T) {
	unfinished := trial.Shrinking{NotShrunk: true, Unfinished: "the time budget of 1s was used up"}
	shrunk := trial.Shrinking{Trials: 41, From: trial.Size{Clients: 3, Ops: 90}, To: trial.Size{Clients: 2, Ops: 12}}
	for _, c := range []struct {
		name    string
		verdict *trial.Shrinking
		minimal *trial.Shrinking
		want    string // of the trial as it ran
		small   string // of the minimal one
	}{
		{"nobody asked for it", nil, nil, "Not shrunk: the trial as it ran.", ""},
		{"there was no time", &unfinished, nil, "Not shrunk: the trial as it ran (the time budget of 1s was used up).", ""},
		{"it was shrunk", nil, &shrunk, "The trial as it ran; a smaller one that shows the same is in [minimal](minimal/counterexample.md).",
			"Shrunk, in 41 trials, from the trial as it first ran: 3 to 2 clients, 90 to 12 operations."},
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
			before, err := os.ReadFile(lines)
			if err != nil {
				t.Fatal(err)
			}
			storeTrial(t, dir, small)
			stored(small, c.minimal)
			if err := os.WriteFile(lines, before, 0o666); err != nil { // it is no trial of the campaign's
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
			if text, err := os.ReadFile(path); want != "" && (err != nil || !strings.Contains(string(text), "\n"+want+"\n")) {
				t.Errorf("%s: %s lacks %q (%v)", c.name, path, want, err)
			}
		}
		page, err := os.ReadFile(filepath.Join(dir, HTMLFile))
		if err != nil {
			t.Fatal(err)
		}
		if want := c.small; want != "" && !strings.Contains(string(expanded(t, page)), want) {
			t.Errorf("%s: the page lacks %q", c.name, want)
		}
	}
}
