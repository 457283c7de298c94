package reports

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// renewalTable compares recipes that renew their leases with the same locks without renewal. It
// has a column for each overrun, such as holders that work for 1.2 leases, and columns for holders
// that hang.
type renewalTable struct {
	Overruns []string // "1.2 leases", in ascending order; trials with several overruns come last
	Rows     []renewalRow
}

// renewalRow is one recipe's row. Each text is a share of trials, such as "3 of 18".
type renewalRow struct {
	Recipe string
	Renews bool
	Slow   []string // violated trials, for each of renewalTable.Overruns
	Hung   string   // violated trials among those whose holder hung
	Ever   string   // trials after which no client ever acquired the lock again, among those whose holder hung
}

// renewalWords introduces the table.
const renewalWords = "Renewal keeps the lease of a slow holder, but also the lease of a holder that never comes back. " +
	"The left columns count the violated trials among those whose holders worked for that long (undecided trials are left out). The right columns count, among the trials whose holder hung, " +
	"the violated trials, and the trials after which no client ever got the lock again."

// share counts trials: n out of a total.
type share struct{ n, of int }

// and returns the share with one more trial in the total; if counts is set, also in n.
func (s share) and(counts bool) share {
	s.of++
	if counts {
		s.n++
	}
	return s
}

func (s share) String() string {
	if s.of == 0 {
		return notSeen
	}
	return fmt.Sprintf("%d of %d", s.n, s.of)
}

// shares holds the counts of one recipe.
type shares struct {
	slow       map[int]share // by overrun, in tenths of a lease
	hung, ever share
}

// renewals returns the comparison. The table has no rows if no recipe renews, or if no decided
// trial had a fault that prolonged a holder's work or hung a holder.
func (r result) renewals(recipes []string) (table renewalTable) {
	counts, overruns := r.overrunShares()
	if len(counts) == 0 {
		return renewalTable{}
	}
	for _, o := range overruns {
		text := fmt.Sprintf("%d.%d leases", o/10, o%10)
		if o == severalOverruns {
			text = "several of these"
		}
		table.Overruns = append(table.Overruns, text)
	}
	add := func(recipe locks.Recipe, renews bool) {
		c := counts[recipe.ID]
		if c == nil || slices.ContainsFunc(table.Rows, func(row renewalRow) bool { return row.Recipe == recipe.ID }) {
			return
		}
		row := renewalRow{Recipe: recipe.ID, Renews: renews, Hung: c.hung.String(), Ever: c.ever.String()}
		for _, o := range overruns {
			row.Slow = append(row.Slow, c.slow[o].String())
		}
		table.Rows = append(table.Rows, row)
	}
	for _, id := range recipes {
		recipe, ok := r.Glossary.recipe(id)
		if !ok || !recipe.Claims(time.Second, 1).Renews {
			continue
		}
		if plain, ok := r.Glossary.recipe(recipe.Unrenewed); ok {
			add(plain, false)
		}
		add(recipe, true)
	}
	return table
}

// severalOverruns is the overrun of a trial whose holders overran by different times.
const severalOverruns = math.MaxInt

// overrunShares counts, for each recipe, the decided trials whose faults all prolong a client's
// work, or all hang it. It also returns the overruns, each in tenths of a lease or severalOverruns.
func (r result) overrunShares() (byRecipe map[string]*shares, overruns []int) {
	byRecipe = map[string]*shares{}
	for _, t := range r.Trials {
		effect, lasts, ok := longWork(t.Spec.Plan)
		recipe, known := r.Glossary.recipe(t.Spec.Lock)
		if !ok || !known || !t.Decided() {
			continue
		}
		c := byRecipe[recipe.ID]
		if c == nil {
			c = &shares{slow: map[int]share{}}
			byRecipe[recipe.ID] = c
		}
		if effect == history.Hung {
			c.hung = c.hung.and(t.Outcome == trial.Violated)
			c.ever = c.ever.and(slices.ContainsFunc(t.Flaws, func(f trial.Flaw) bool { return f.Forever }))
			continue
		}
		lease := max(t.Spec.Options.TTL, t.Spec.PromisedBy(recipe).Recovery)
		tenths := int((10*lasts + lease/2) / lease)
		if lasts == 0 {
			tenths = severalOverruns
		}
		c.slow[tenths] = c.slow[tenths].and(t.Outcome == trial.Violated)
		if !slices.Contains(overruns, tenths) {
			overruns = append(overruns, tenths)
		}
	}
	slices.Sort(overruns)
	return byRecipe, overruns
}

// longWork returns the effect of a plan whose actions all prolong a client's work, or all hang it;
// ok is false for other plans. lasts is how long the work lasts; 0 if the actions differ in this.
func longWork(p nemesis.Plan) (effect history.FaultEffect, lasts time.Duration, ok bool) {
	for i, a := range p {
		e := nemesis.Effect(a.Fault)
		switch {
		case !e.Prolongs() || i > 0 && e != effect:
			return "", 0, false
		case i == 0:
			effect, lasts = e, a.For
		case a.For != lasts:
			lasts = 0
		}
	}
	return effect, lasts, len(p) > 0
}

// RenewsText says whether the recipe renews.
func (r renewalRow) RenewsText() string { return wording.YesNo(r.Renews) }
