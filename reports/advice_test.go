package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// judged returns a cell with ten decided trials that showed these flaws.
func judged(lock, fault string, flaws ...trial.Flaw) campaign.Cell {
	c := sampleCell(lock, fault, 0)
	c.Verdict, c.Trials, c.Exercised, c.Flaws = trial.Holds, 10, 10, flaws
	if len(flaws) > 0 {
		c.Verdict, c.Kind = trial.Violated, flaws[0].Kind
	}
	return c
}

func TestAnswersFollowFromVerdictsAndClaims(t *testing.T) {
	limit := func(oracle, cause string) trial.Flaw {
		return trial.Flaw{Oracle: oracle, Cause: cause, Kind: locks.Limit}
	}
	bug := func(oracle, cause string) trial.Flaw {
		return trial.Flaw{Oracle: oracle, Cause: cause, Kind: locks.Bug}
	}
	own := locks.Recipe{ID: "own", Topology: locks.Single, Claims: func(ttl time.Duration, _ int) history.Claims { return history.Claims{TTL: ttl, Recovery: ttl} }}
	fencing := own
	fencing.Claims = func(ttl time.Duration, _ int) history.Claims { return history.Claims{TTL: ttl, Fenced: true} }
	limited := own
	limited.Flaws = locks.Limits(locks.Known{})
	buggy := own
	buggy.Flaws = []locks.Flaw{{Oracle: "exclusion", Cause: "race", Kind: locks.Bug, Faults: []string{"delay"}}}
	unknown := judged("own", "delay")
	unknown.Verdict, unknown.Exercised, unknown.Undecided = trial.Unknown, 0, 3

	for name, c := range map[string]struct {
		recipe  locks.Recipe
		cells   []campaign.Cell
		want    answer
		causes  []checker.Cause
		instead []string
		words   string // a part of the sentence
	}{
		"nothing but waits": {own, []campaign.Cell{judged("own", "client-crash", limit("liveness", "orphaned-key"))}, useIt, nil, nil,
			"none of 10 trials under 1 fault showed more than a wait, which is no proof"},
		"limits": {own, []campaign.Cell{judged("own", "failover", limit("exclusion", "server-lost-key")), judged("own", "client-pause", limit("resource", "lease-outlived"))},
			useOnlyIf, []checker.Cause{checker.LeaseOutlived, checker.ServerLostKey}, []string{"fenced"}, "(1) a holder is done before its lease ends, and (2) Redis keeps a key that it has acknowledged; where (1) is not sure, take `fenced`; where (2) is not sure, take `redlock-drift` or `redlock-delayed-restart` on independent nodes; where none of these can be had, no lease will do"},
		"blocked for ever, as every renewed lock may be": {own, []campaign.Cell{judged("own", "hung-work", trial.Flaw{Oracle: "liveness", Cause: "hung-holder", Kind: locks.Limit, Forever: true})},
			useOnlyIf, []checker.Cause{checker.HungHolder}, []string{"fenced", "set-nx-px-wait", "redlock-drift", "redlock-delayed-restart"}, "a client that renews a lease is still at work"},
		"an overlap that a fence makes harmless": {fencing, []campaign.Cell{judged("own", "failover", limit("exclusion", "server-lost-key"))}, useOnlyIf, nil, []string{"set-nx-px-wait"},
			"the guarded resource refuses an older fencing token; where that is not sure, take"},
		"a bug": {own, []campaign.Cell{judged("own", "client-pause", limit("exclusion", "lease-outlived")), judged("own", "delay", bug("ownership", "foreign-delete"))},
			doNotUse, []checker.Cause{checker.ForeignDelete}, []string{"fenced", "set-nx-px-wait"}, "failed under delay; take `fenced` or `set-nx-px-wait` instead."},
		"not declared": {own, []campaign.Cell{judged("own", "delay", trial.Flaw{Oracle: "exclusion", Cause: "race"})}, doNotUse, []checker.Cause{checker.Race}, []string{"fenced", "set-nx-px-wait"},
			"failed under delay, and it declares no such flaw"},
		"a declared bug that did not show": {buggy, []campaign.Cell{judged("own", "delay")}, doNotUse, []checker.Cause{checker.Race}, []string{"fenced", "set-nx-px-wait"},
			"by its own declaration fails under delay; this run did not show it"},
		"declared limits under faults that were not tried": {limited, []campaign.Cell{judged("own", "client-crash")}, useOnlyIf,
			[]checker.Cause{checker.LeaseOutlived, checker.ServerLostKey, checker.ServerClock}, nil, "a holder is done before its lease ends"},
		"limits of mixes only":                       {own, []campaign.Cell{judged("own", "chaos", limit("exclusion", "server-lost-key"))}, useIt, nil, nil, "no proof"},
		"undecided beside others":                    {own, []campaign.Cell{judged("own", "reset"), unknown}, useOnlyIf, nil, nil, "In 1 cell the evidence did not decide."},
		"nothing under a fault":                      {own, []campaign.Cell{judged("own", "none"), unknown}, notJudged, nil, nil, "no trial under a fault decided anything about it"},
		"nothing but no fault":                       {own, []campaign.Cell{judged("own", "none")}, useIt, nil, nil, "no proof"},
		"nothing decided":                            {own, []campaign.Cell{unknown}, notJudged, nil, nil, "nothing was decided."},
		"nothing decided of one that declares a bug": {buggy, []campaign.Cell{unknown}, notJudged, []checker.Cause{checker.Race}, nil, "nothing was decided."},
	} {
		t.Run(name, func(t *testing.T) {
			r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: c.cells}}
			r.Glossary.Recipes = []locks.Recipe{c.recipe}
			faults := []string{"client-crash", "client-pause", "delay", "reset", "failover"}
			for _, cell := range c.cells {
				if !slices.Contains(faults, cell.Fault) {
					faults = append(faults, cell.Fault)
				}
			}
			a := r.advise("own", faults)
			var causes []checker.Cause
			for _, b := range a.Broken {
				causes = append(causes, b.Cause)
			}
			if name == "declared limits under faults that were not tried" {
				slices.Sort(causes)
				slices.Sort(c.causes)
				a.Instead = nil
			}
			var instead []string
			for _, p := range a.Instead {
				instead = append(instead, p.ID)
			}
			if a.Answer != c.want || !slices.Equal(causes, c.causes) || !slices.Equal(instead, c.instead) {
				t.Errorf("got %s %v, instead %v; want %s %v, instead %v", a.Label(), causes, instead, answerWords[c.want].Words, c.causes, c.instead)
			}
			if !strings.Contains(a.Words(), c.words) {
				t.Errorf("got %q, want %q in it", a.Words(), c.words)
			}
		})
	}
}

func TestAnswersAreSortedBestFirst(t *testing.T) {
	r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: []campaign.Cell{
		judged("setnx", "delay", trial.Flaw{Oracle: "liveness", Cause: "no-expiry", Kind: locks.Bug, Forever: true}),
		judged("set-nx-px", "delay"), judged("exists-set", "delay", trial.Flaw{Oracle: "exclusion", Cause: "race", Kind: locks.Bug}),
	}}}
	r.Matrix.Cells[0].Verdict, r.Matrix.Cells[0].Forever = trial.Blocked, true
	var got []string
	for _, x := range newView(r, nil).Answers {
		got = append(got, x.Recipe)
	}
	if want := []string{"set-nx-px", "setnx", "exists-set"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// In print, recipes share a row if their answers differ only in the faults under which the recipes
// failed.
func TestRecipesWithTheSameAnswerStandTogetherOnPaper(t *testing.T) {
	no := func(recipe string, cause checker.Cause, seen bool, faults ...string) adviceRow {
		return adviceRow{Recipe: recipe, Advice: advice{Answer: doNotUse, Broken: []brokenAssumption{{Cause: cause, Kind: locks.Bug, Faults: faults, Seen: seen}}}}
	}
	var got []string
	for _, x := range alikeRows([]adviceRow{
		{Recipe: "first", Advice: advice{Answer: useOnlyIf, Fenced: true}},
		no("a", checker.ForeignDelete, true, "delay"), no("b", checker.Race, true, "delay"),
		no("c", checker.ForeignDelete, true, "reset", "delay"), no("d", checker.ForeignDelete, false, "delay"),
		no("e", checker.Unclassified, true, "delay"),
	}) {
		got = append(got, strings.Join(texts(x.Items, func(r adviceRow) string { return r.Recipe }), " ")+": "+x.Key.gist)
	}
	want := []string{
		"first: the guarded resource refuses an older fencing token.",
		"a c: it assumes that the key that a release deletes is still the caller's own, which failed.",
		"b: it assumes that nothing happens between the recipe's own commands, which failed.",
		"d: it assumes that the key that a release deletes is still the caller's own, which by its own declaration fails; this run did not show it.",
		"e: it showed " + checker.Unclassified.Meaning() + ".",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
