package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// Replaying the counterexamples of docs/how-it-works.md gives the results that the page shows.
func TestCounterexamplesOfTheDocumentsReplay(t *testing.T) {
	const docs = "../../../docs"
	page := readPage(t, "docs/how-it-works.md")
	folders, err := filepath.Glob(filepath.Join(docs, "counterexamples", "*", trial.SpecFile))
	if err != nil || len(folders) != 3 {
		t.Fatalf("%d counterexamples, %v; expected 3", len(folders), err)
	}
	for _, spec := range folders {
		dir := filepath.Dir(spec)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			_, told, found := strings.Cut(page, "lockstorm replay docs/counterexamples/"+filepath.Base(dir)+"\n```\n\n```\n")
			told, _, ended := strings.Cut(told, "\n```\n")
			if !found || !ended {
				t.Fatalf("docs/how-it-works.md does not tell %s", dir)
			}
			code, stdout, stderr := lockstorm(t, "replay", dir)
			if code != campaign.ExitExpected || !strings.Contains(stdout, "same history as stored") {
				t.Fatalf("exit code %d; stdout\n%s\nstderr\n%s", code, stdout, stderr)
			}
			if !strings.Contains(stdout, told) {
				t.Errorf("docs/how-it-works.md tells\n%s\nbut it prints\n%s", told, stdout)
			}
		})
	}
}
