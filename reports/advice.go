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
	all := brokenList{claims: claims, glossary: r.Glossary, faults: faults}
	for _, c := range cells {
		all.addCell(c)
	}
	for _, f := range known.Flaws {
		all.addDeclared(f, cells)
	}
	sorted := all.sorted()
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

// brokenList collects the broken assumptions of one recipe, one for each cause and kind.
type brokenList struct {
	claims   history.Claims
	glossary glossary
	faults   []string
	all      []brokenAssumption
}

// addCell adds the flaws of a cell that matter (see matters). It skips a limit that a mix of faults
// showed, because the limit may take several faults at once.
func (l *brokenList) addCell(c campaign.Cell) {
	for _, f := range c.Flaws {
		if f.Kind == locks.Limit && l.glossary.fault(c.Fault).Mix || !matters(l.claims, f.Oracle, f.Kind, f.Forever) {
			continue
		}
		l.add(brokenAssumption{Cause: checker.Cause(f.Cause), Kind: f.Kind, Faults: []string{c.Fault}, Seen: true, rank: checker.OracleNamed(f.Oracle).Rank})
	}
}

// addDeclared adds a flaw that the recipe declares. It skips a limit that does not matter (see
// matters), a limit that only a mix of faults shows, and a limit by renewal if the recipe does not
// renew. It also skips a limit that need not show under any fault (locks.Flaw.Faults), if a trial
// under a fault that may show it was decided.
func (l *brokenList) addDeclared(f locks.Flaw, cells []campaign.Cell) {
	cause := checker.Cause(f.Cause)
	mix := func(fault string) bool { return l.glossary.fault(fault).Mix }
	faults := slices.DeleteFunc(slices.Concat(f.Faults, f.Also), mix)
	if f.Kind == locks.Limit {
		must := slices.DeleteFunc(slices.Clone(f.Faults), mix)
		tried := slices.ContainsFunc(cells, func(c campaign.Cell) bool { return c.Exercised > 0 && slices.Contains(faults, c.Fault) })
		if tried && len(must) == 0 || len(faults) == 0 || !matters(l.claims, f.Oracle, f.Kind, false) || cause.OfRenewal() && !l.claims.Renews {
			return
		}
	}
	if len(faults) == 0 { // a bug that only several faults together show
		faults = slices.Concat(f.Faults, f.Also)
	}
	l.add(brokenAssumption{Cause: cause, Kind: f.Kind, Faults: faults, rank: checker.OracleNamed(f.Oracle).Rank})
}

// add adds an assumption, or adds its faults to the same assumption. A declared assumption is
// dropped if the same assumption was seen.
func (l *brokenList) add(b brokenAssumption) {
	i := slices.IndexFunc(l.all, func(x brokenAssumption) bool { return x.Cause == b.Cause && x.Kind == b.Kind })
	switch {
	case i < 0:
		l.all = append(l.all, b)
	case l.all[i].Seen == b.Seen:
		x := &l.all[i]
		x.rank = min(x.rank, b.rank)
		for _, fault := range b.Faults {
			if !slices.Contains(x.Faults, fault) {
				x.Faults = append(x.Faults, fault)
			}
		}
	}
}

// sorted returns the assumptions, the gravest first: undeclared ones, then bugs, then limits. Among
// equals, those that were seen come first; then those that broke under the earlier fault of the
// matrix, because the most ordinary faults stand first there; then those with the more direct harm.
func (l *brokenList) sorted() []brokenAssumption {
	kind := map[locks.Kind]int{"": 0, locks.Bug: 1, locks.Limit: 2}
	seen := map[bool]int{true: 0, false: 1}
	first := func(b brokenAssumption) int {
		at := len(l.faults)
		for _, f := range b.Faults {
			if i := slices.Index(l.faults, f); i >= 0 {
				at = min(at, i)
			}
		}
		return at
	}
	slices.SortStableFunc(l.all, func(a, b brokenAssumption) int {
		return cmp.Or(cmp.Compare(kind[a.Kind], kind[b.Kind]), cmp.Compare(seen[a.Seen], seen[b.Seen]), cmp.Compare(first(a), first(b)),
			cmp.Compare(a.rank, b.rank), cmp.Compare(slices.Index(checker.Causes(), a.Cause), slices.Index(checker.Causes(), b.Cause)))
	})
	return l.all
}
