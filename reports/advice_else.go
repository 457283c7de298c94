package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// condition is one condition of "use it only if", in the sentence's words. Broken is empty for the
// condition that the resource refuses older fencing tokens.
type condition struct {
	Text   string
	Broken []brokenAssumption
}

// alternative names recipes to use if the user cannot ensure some conditions.
type alternative struct {
	Places []int // the conditions' indices, from 0
	Picks  []locks.Pick
	// Only lists the faults under which both the conditions and the picks fail.
	Only []string
	// Independent: the picks need independent nodes, but the recipe itself does not.
	Independent bool
}

// conditionList returns the conditions of the answer, in order.
func (a advice) conditionList() (all []condition) {
	if a.Fenced {
		all = append(all, condition{Text: "the guarded resource refuses an older fencing token"})
	}
	for _, g := range groupBy(a.Broken, func(b brokenAssumption) string { return b.Cause.Assumption() }) {
		if g.Key != "" {
			all = append(all, condition{g.Key, g.Items})
		}
	}
	return all
}

// namedConditions returns how many conditions the sentence names. The sentence gives only the
// number of the remaining ones.
func (a advice) namedConditions() int {
	most := mostAssumptions
	if a.Fenced {
		most++
	}
	return min(most, len(a.conditionList()))
}

// mostStill is the maximum number of a condition's faults under which an alternative may fail, too.
const mostStill = 2

// alternatives returns, for each named condition, recipes for a user who cannot ensure it: recipes
// that do not depend on the condition, or else those that fail under the fewest of the condition's
// faults. For the first condition they are a.Instead, if there are any. Conditions with the same
// recipes share an entry. Only the answer "use it only if" has alternatives.
func alternatives(known locks.Recipe, claims history.Claims, a advice) (all []alternative) {
	if a.Answer != useOnlyIf {
		return nil
	}
	if len(a.Instead) > 0 {
		all = append(all, alternative{Places: []int{0}, Picks: a.Instead})
	}
	for i, c := range a.conditionList()[:a.namedConditions()] {
		if len(c.Broken) == 0 || i == 0 && len(a.Instead) > 0 {
			continue
		}
		x := alternativeTo(known, claims, c)
		if len(x.Picks) == 0 {
			continue
		}
		same := func(y alternative) bool {
			return slices.Equal(x.Only, y.Only) && slices.EqualFunc(x.Picks, y.Picks, func(a, b locks.Pick) bool { return a.ID == b.ID })
		}
		if at := slices.IndexFunc(all, same); at >= 0 {
			all[at].Places = append(all[at].Places, i)
			continue
		}
		x.Places = []int{i}
		x.Independent = known.Topology != locks.Independent && !slices.ContainsFunc(x.Picks, func(p locks.Pick) bool {
			r, _ := locks.ByID(p.ID)
			return r.Topology != locks.Independent
		})
		all = append(all, x)
	}
	return all
}

func alternativeTo(known locks.Recipe, claims history.Claims, c condition) alternative {
	least, own := mostStill, 0
	for _, b := range c.Broken {
		own = max(own, len(b.Faults))
	}
	var best alternative
	for _, p := range locks.Picks() {
		promised, ok := promises(p)
		if !ok || !likePick(known, claims, p) || !promised.Fenced && slices.ContainsFunc(c.Broken, func(b brokenAssumption) bool { return b.Cause == checker.FenceRegressed }) {
			continue
		}
		only := breaks(p, c.Broken...)
		switch {
		case len(only) > least || len(only) > 0 && len(only) >= own:
		case len(only) < least || len(best.Picks) == 0:
			least, best = len(only), alternative{Picks: []locks.Pick{p}, Only: only}
		case slices.Equal(only, best.Only):
			best.Picks = append(best.Picks, p)
		}
	}
	return best
}

// promises returns the claims of a pick; false if its recipe is not registered.
func promises(p locks.Pick) (history.Claims, bool) {
	r, ok := locks.ByID(p.ID)
	if !ok {
		return history.Claims{}, false
	}
	return r.Claims(pageLease, pageNodes), true
}

// likePick reports whether a pick is another recipe of the same kind: read-write lock or not.
func likePick(known locks.Recipe, claims history.Claims, p locks.Pick) bool {
	promised, ok := promises(p)
	return ok && p.ID != known.ID && promised.ReadWrite == claims.ReadWrite
}

// breaks returns those faults of the broken assumptions under which the pick declares a flaw with
// the same cause. Only flaws that matter count.
func breaks(p locks.Pick, broken ...brokenAssumption) (faults []string) {
	other, ok := locks.ByID(p.ID)
	if !ok {
		return nil
	}
	promised := other.Claims(pageLease, pageNodes)
	for _, b := range broken {
		for _, f := range other.Flaws {
			if f.Cause != string(b.Cause) || !matters(promised, f.Oracle, f.Kind, false) {
				continue
			}
			for _, fault := range b.Faults {
				if (slices.Contains(f.Faults, fault) || slices.Contains(f.Also, fault)) && !slices.Contains(faults, fault) {
					faults = append(faults, fault)
				}
			}
		}
	}
	return faults
}

// conditionNumber returns a sentence's reference to its i-th condition, counted from 0: "(1)" for
// the first.
func conditionNumber(i int) string { return fmt.Sprintf("(%d)", i+1) }

// elseWords names the alternatives to conditions that the user cannot ensure, as the end of a
// sentence, such as "; where (1) is not sure, take `fenced`".
func (a advice) elseWords() string {
	text := ""
	for _, x := range a.Else {
		unsure := "that"
		if len(a.conditionList()) > 1 {
			var numbers []string
			for _, i := range x.Places {
				numbers = append(numbers, conditionNumber(i))
			}
			unsure = orWords(numbers)
		}
		text += "; where " + unsure + " is not sure, take " + takeWords(x.Picks)
		if x.Independent {
			text += " on independent nodes"
		}
		if len(x.Only) > 0 {
			text += ", with which " + unsure + " fails only under " + strings.Join(x.Only, " and ")
		}
		text += a.reentrantWords()
		if a.Fenced && slices.Contains(x.Places, 0) {
			// These picks give no fencing tokens, so they do not protect the resource from a late holder.
			text += ", if " + checker.LeaseOutlived.Assumption()
		}
	}
	if text != "" {
		text += "; where none of these can be had, no lease will do: the resource itself has to compare and set"
	}
	return text
}

// orWords joins words with commas and a last "or".
func orWords(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}
