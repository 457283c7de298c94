package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// The terminal prints the answers of report.html, one line for each class of answers.
func TestTheTerminalTellsWhichLockToUse(t *testing.T) {
	outlived := trial.Flaw{Oracle: "resource", Cause: "lease-outlived", Kind: locks.Limit}
	lost := trial.Flaw{Oracle: "resource", Cause: "server-lost-key", Kind: locks.Limit}
	race := trial.Flaw{Oracle: "exclusion", Cause: "race", Kind: locks.Bug}
	declares(t, "g-recipe", locks.Flaw{Oracle: "exclusion", Cause: "race", Kind: locks.Bug, Faults: []string{"client-pause"}})
	blank := judged("nobodys-recipe", "delay")
	blank.Exercised, blank.Verdict = 0, trial.NotExercised
	s := campaign.Stored{Matrix: campaign.Matrix{Cells: []campaign.Cell{
		judged("a-recipe", "delay"), judged("b-recipe", "delay"), judged("c-recipe", "delay", outlived), judged("d-recipe", "delay", outlived, lost),
		judged("e-recipe", "delay", lost), judged("f-recipe", "delay", race), judged("g-recipe", "delay"), blank,
	}}}
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `use, as far as these faults go: b-recipe, a-recipe
use only if Redis keeps a key that it has acknowledged: e-recipe
use only if a holder is done before its lease ends, and Redis keeps a key that it has acknowledged: d-recipe
use only if a holder is done before its lease ends: c-recipe
nothing was decided: nobodys-recipe
do not use, for a declared flaw that this run did not show: g-recipe
do not use: f-recipe
`},
		{60, `use, as far as these faults go: b-recipe, a-recipe
use only if Redis keeps a key that it has acknowledged:
  e-recipe
use only if a holder is done before its lease ends, and
  Redis keeps a key that it has acknowledged: d-recipe
use only if a holder is done before its lease ends: c-recipe
nothing was decided: nobodys-recipe
do not use, for a declared flaw that this run did not show:
  g-recipe
do not use: f-recipe
`},
	} {
		var b bytes.Buffer
		if err := Answers(&b, s, Screen{Width: c.width}); err != nil || b.String() != c.want {
			t.Errorf("%d columns: %v, got\n%s\nwant\n%s", c.width, err, b.String(), c.want)
		}
	}
	s.Trials = []trial.Result{{Verdicts: []checker.Verdict{checker.Judged("exclusion", checker.Unknown, account.Fact{What: account.CheckersDisagree, Text: "no"})}}}
	var none bytes.Buffer
	if err := Answers(&none, s, Screen{}); err != nil || strings.HasPrefix(none.String(), "use") || strings.Contains(none.String(), "\nuse") || len(NotRun(s)) > 0 {
		t.Errorf("two checkers disagree: %v, but %v is recommended, in\n%s", err, NotRun(s), none.String())
	}
	s.Matrix.Shard = campaign.Shard{Index: 1, Count: 2}
	var b bytes.Buffer
	if err := Answers(&b, s, Screen{}); err != nil || b.Len() > 0 {
		t.Errorf("a shard: %v, got %q", err, b.String())
	}
}

// declares registers a recipe with one flaw until the test ends.
func declares(t *testing.T, id string, f locks.Flaw) {
	locks.Register(locks.Recipe{ID: id, Topology: locks.Single, Flaws: []locks.Flaw{f}})
	t.Cleanup(func() { locks.Unregister(id) })
}
