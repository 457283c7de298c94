package reports

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/lockstorm/lockstorm/campaign"
)

// Every format shows the flaws of the clients' program, separately from those of the recipes.
func TestEveryFormatShowsFlawsOfPrograms(t *testing.T) {
	declared := campaign.ProgramFlaw{
		Workload: "lottery-unmarked", Oracle: "draws", Cause: "unmarked", Declared: true,
		Why: "who gets the lock later draws again", Source: "D3, lottery", Shown: 3, Trials: 4, Locks: 2, Replay: "lockstorm replay --seed 9",
	}
	undeclared := declared
	undeclared.Workload, undeclared.Declared, undeclared.Why, undeclared.Source = "lottery", false, "", ""
	r := result{Glossary: registries(), Matrix: campaign.Matrix{
		Cells: []campaign.Cell{sampleCell("fenced", "delay", 0)}, Programs: []campaign.ProgramFlaw{undeclared, declared},
	}}
	all := formats(t, r)
	for format, text := range all {
		for _, want := range []string{"workload lottery-unmarked: clients did a job twice, because their program did not record that the job was done", "(oracle draws); no lock is to blame; 3 of 4 trials, 2 recipes", declared.Replay} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", format, want, text)
			}
		}
	}
	var got junit.Testsuites
	if err := xml.Unmarshal([]byte(all["junit"]), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Suites) != 2 || got.Tests != 3 || got.Failures != 1 {
		t.Fatalf("JUnit: got %+v, want the recipe's suite, one of 2 programs, and 1 failure", got)
	}
	s := got.Suites[1]
	if s.Name != "programs" || s.Testcases[0].Failure == nil || s.Testcases[1].Failure != nil {
		t.Errorf("JUnit: got %+v, want a failure for the undeclared flaw only", s)
	}
	if out := s.Testcases[1].SystemOut.Data; !strings.Contains(out, declared.Why+" ("+declared.Source+")") {
		t.Errorf("JUnit: got %q, want the reason and the source", out)
	}
}
