package reports

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// answer says whether to use a recipe.
type answer int

// Answers, best first.
const (
	useIt answer = iota
	useOnlyIf
	notJudged
	doNotUse
)

// advice is the answer for one recipe with its reasons, as data. Words turns it into a sentence.
type advice struct {
	Answer answer
	// Broken are the assumptions behind the answer, the gravest first; the first one decides. For
	// "do not use" they are the reason; for "use it only if" they are the conditions that the user
	// must ensure.
	Broken []brokenAssumption
	// Fenced: the recipe relies on a resource that refuses older fencing tokens.
	Fenced bool
	// Reentrant: the recipe lets an owner acquire the lock again. No recipe in Instead or Else does.
	Reentrant bool
	// Instead are the recommended alternatives. For "use it only if" they do not depend on the
	// first condition (see conditionList).
	Instead []locks.Pick
	// Else are the alternatives for single conditions that the user cannot ensure.
	Else []alternative
	// Trials counts the decided trials, Faults the faults with a decided trial, and Undecided the
	// undecided cells.
	Trials, Faults, Undecided int
	// Unstruck: the campaign has faults, but no trial with a fault was decided yet.
	Unstruck bool
	// Disagreed: two checkers disagree on a trial of the campaign. Such a campaign recommends no recipe.
	Disagreed bool
}

// brokenAssumption is an assumption of a recipe. It broke in this campaign, or the recipe declares
// that it breaks.
type brokenAssumption struct {
	Cause checker.Cause
	Kind  locks.Kind // "" = the recipe does not declare it
	// Faults are the faults under which the assumption broke, in the order of the matrix. If Seen
	// is false, Faults are those under which it breaks by the recipe's own declaration.
	Faults []string
	Seen   bool // whether the assumption broke in this campaign
	// Undisturbed: the assumption broke in trials without a fault. Faults[0] is then the name that
	// these trials have in place of a fault, such as "none".
	Undisturbed bool
	rank        int // the rank of the violated oracle with the most direct harm
}

// advise derives the answer for a recipe from the verdicts and from what the recipe declares and
// claims. faults are the matrix's faults, in order.
func (r result) advise(recipe string, faults []string) advice {
	known, _ := r.Glossary.recipe(recipe)
	var claims history.Claims
	if known.Claims != nil {
		claims = known.Claims(pageLease, pageNodes)
	}
	a := advice{Fenced: claims.Fenced, Reentrant: claims.Reentrant}
	var cells []campaign.Cell
	struck := false
	for _, fault := range faults {
		if c, ok := plots.CellOf(r.Matrix, recipe, fault); ok {
			cells = append(cells, c)
			a.count(c)
			if fault != nemesis.Undisturbed().Name {
				struck, a.Unstruck = struck || c.Exercised > 0, true
			}
		}
	}
	a.Unstruck = a.Unstruck && !struck
	a.Disagreed = slices.ContainsFunc(r.Trials, trial.Result.Disagreed)
	sorted := r.brokenIn(cells, known.Flaws, claims, faults)
	for i, b := range sorted {
		sorted[i].Undisturbed = b.Seen && slices.ContainsFunc(r.Trials, func(t trial.Result) bool {
			return t.Spec.Lock == recipe && t.Spec.Fault == b.Faults[0] && len(t.Spec.Plan) == 0 && t.Violation()
		})
	}
	a.decide(sorted)
	if !a.Disagreed {
		a.Instead = insteadOf(known, claims, a)
		a.Else = alternatives(known, claims, a)
	}
	return a
}

// count adds a cell to Trials, Faults and Undecided.
func (a *advice) count(c campaign.Cell) {
	a.Trials += c.Exercised
	if c.Exercised > 0 {
		a.Faults++
	}
	if c.Verdict == trial.Unknown {
		a.Undecided++
	}
}

// decide sets the answer. all is sorted, the gravest first. If nothing was decided, that is the answer,
// whatever the recipe declares.
func (a *advice) decide(all []brokenAssumption) {
	isLimit := func(b brokenAssumption) bool { return b.Kind == locks.Limit }
	bugs := slices.DeleteFunc(slices.Clone(all), isLimit)
	seen := slices.ContainsFunc(bugs, func(b brokenAssumption) bool { return b.Seen })
	switch {
	case len(bugs) > 0 && (a.Trials > 0 || seen):
		a.Answer, a.Broken = doNotUse, bugs
	case a.Trials == 0 || a.Unstruck || a.Disagreed:
		a.Answer, a.Broken = notJudged, all
	case len(all) > 0 || a.Fenced || a.Undecided > 0:
		a.Answer, a.Broken = useOnlyIf, all
	}
}

// insteadOf returns the recipes to recommend instead of known.
func insteadOf(known locks.Recipe, claims history.Claims, a advice) []locks.Pick {
	if a.Answer == doNotUse || a.Answer == useOnlyIf && a.Fenced {
		// "Use it only if" then begins with the condition that the resource refuses older fencing
		// tokens. The alternatives must do without such a resource.
		return slices.DeleteFunc(locks.PicksLike(known.ID, claims, known.Topology), func(p locks.Pick) bool {
			promised, _ := promises(p)
			return a.Answer == useOnlyIf && promised.Fenced
		})
	}
	if a.Answer != useOnlyIf || len(a.Broken) == 0 {
		return nil
	}
	first := a.Broken[0]
	return slices.DeleteFunc(locks.Picks(), func(p locks.Pick) bool {
		return !likePick(known, claims, p) || len(breaks(p, first)) > 0
	})
}

// matters reports whether a flaw matters in choosing a lock with these claims. Two kinds of limits
// do not. A block that ends is the price of every lease. Two clients that both believe they hold
// the lock do no harm if the resource refuses the older fencing token.
func matters(claims history.Claims, oracle string, kind locks.Kind, forever bool) bool {
	if kind != locks.Limit {
		return true
	}
	switch checker.OracleNamed(oracle).Harm {
	case checker.HarmBlockage:
		return forever
	case checker.HarmOverlap:
		return !claims.Fenced
	}
	return true
}

// brokenIn returns the broken assumptions, the gravest first: undeclared ones, then bugs, then limits. Among
// equals, those that were seen come first; then those that broke under the earlier fault of the
// matrix, because the most ordinary faults stand first there; then those with the more direct harm.
// Only flaws that matter count (see matters), and no limit that a mix of faults showed, because it may take several
// faults at once. A declared assumption is left out if the same assumption was seen.
func (r result) brokenIn(cells []campaign.Cell, declared []locks.Flaw, claims history.Claims, faults []string) []brokenAssumption {
	var found []brokenAssumption
	for _, c := range cells {
		for _, f := range c.Flaws {
			if (f.Kind != locks.Limit || !r.Glossary.fault(c.Fault).Mix) && matters(claims, f.Oracle, f.Kind, f.Forever) {
				found = append(found, brokenAssumption{Cause: checker.Cause(f.Cause), Kind: f.Kind, Faults: []string{c.Fault}, Seen: true, rank: checker.OracleNamed(f.Oracle).Rank})
			}
		}
	}
	for _, f := range declared {
		if under := r.breaksUnder(f, claims, cells); len(under) > 0 {
			found = append(found, brokenAssumption{Cause: checker.Cause(f.Cause), Kind: f.Kind, Faults: under, rank: checker.OracleNamed(f.Oracle).Rank})
		}
	}
	type same struct {
		cause checker.Cause
		kind  locks.Kind
	}
	var all []brokenAssumption
	for _, g := range groupBy(found, func(b brokenAssumption) same { return same{b.Cause, b.Kind} }) {
		b := g.Items[0]
		for _, x := range g.Items[1:] {
			if x.Seen == b.Seen {
				b.rank = min(b.rank, x.rank)
				b.Faults = append(b.Faults, slices.DeleteFunc(slices.Clone(x.Faults), func(f string) bool { return slices.Contains(b.Faults, f) })...)
			}
		}
		all = append(all, b)
	}
	kind := map[locks.Kind]int{"": 0, locks.Bug: 1, locks.Limit: 2}
	seen := map[bool]int{true: 0, false: 1}
	first := func(b brokenAssumption) int {
		return slices.IndexFunc(append(slices.Clone(faults), ""), func(f string) bool { return f == "" || slices.Contains(b.Faults, f) })
	}
	slices.SortStableFunc(all, func(a, b brokenAssumption) int {
		return cmp.Or(cmp.Compare(kind[a.Kind], kind[b.Kind]), cmp.Compare(seen[a.Seen], seen[b.Seen]), cmp.Compare(first(a), first(b)),
			cmp.Compare(a.rank, b.rank), cmp.Compare(slices.Index(checker.Causes(), a.Cause), slices.Index(checker.Causes(), b.Cause)))
	})
	return all
}

// breaksUnder returns the faults under which a flaw shows by the recipe's declaration; none for a limit that does not
// matter (see matters), a limit that only a mix of faults shows, and a limit by renewal if the recipe does not
// renew. There are none either for a limit that need not show under any fault (locks.Flaw.Faults), if a trial
// under a fault that may show it was decided.
func (r result) breaksUnder(f locks.Flaw, claims history.Claims, cells []campaign.Cell) []string {
	mix := func(fault string) bool { return r.Glossary.fault(fault).Mix }
	all := slices.Concat(f.Faults, f.Also)
	faults := slices.DeleteFunc(slices.Clone(all), mix)
	if f.Kind != locks.Limit {
		if len(faults) == 0 { // only several faults together show it
			return all
		}
		return faults
	}
	must := slices.DeleteFunc(slices.Clone(f.Faults), mix)
	tried := slices.ContainsFunc(cells, func(c campaign.Cell) bool { return c.Exercised > 0 && slices.Contains(faults, c.Fault) })
	if tried && len(must) == 0 || !matters(claims, f.Oracle, f.Kind, false) || checker.Cause(f.Cause).OfRenewal() && !claims.Renews {
		return nil
	}
	return faults
}
