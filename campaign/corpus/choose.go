package corpus

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/trial"
)

// Candidate is a trial of a thorough campaign, with what it shows.
type Candidate struct {
	Line  Line
	Facts []string
	// Operations are the kinds of operations that the trial has (trial.Operations).
	Operations []string
	// Cost estimates the time that the trial takes, by a measure that is the same on every machine.
	Cost int
	// Order is the trial's trial.Result.Order.
	Order int
}

// NewCandidate returns the candidate of a judged trial of a campaign with the given seed. Its
// verdicts must be complete (Facts).
func NewCandidate(t trial.Result, seed uint64) Candidate {
	s := t.Spec
	l := Line{Lock: s.Lock, Fault: s.Fault, Workload: s.Workload, Schedule: s.Schedule}
	if !s.Named() {
		l.Trial = s.Trial
		if !t.Probe {
			l.Seed = seed
		}
	}
	l.Hash = t.Hash[:min(HashDigits, len(t.Hash))]
	return Candidate{Line: l, Facts: Facts(t), Operations: t.Operations, Cost: t.Ops + t.Commands + t.Keys + perTrial, Order: t.Order()}
}

// perTrial is the cost of setting up and judging a trial without commands, in commands.
const perTrial = 50

// fact is a fact, or an operation, with the scope in which one trial is enough to show it.
type fact struct {
	lock, fault, text string
	operation         bool
}

// facts returns the facts for which the corpus may keep the candidate. Of each cell, one trial must
// show each flaw, one the cell's worst outcome, and one each function with each result; of each lock, one must have
// each kind of operation: the history of that trial is another one when the recipe's code for it has changed. Broken
// assumptions are properties of a lock, too: one trial under any fault is enough.
func (c Candidate) facts(worst map[fact]int) (all []fact) {
	cell := fact{lock: c.Line.Lock, fault: c.Line.Fault}
	for _, text := range c.Facts {
		switch {
		case isBroken(text):
			all = append(all, fact{lock: cell.lock, text: text})
		case !isOutcome(text):
			all = append(all, fact{lock: cell.lock, fault: cell.fault, text: text})
		case c.Order == worst[cell]:
			all = append(all, fact{lock: cell.lock, fault: cell.fault, text: text})
		}
	}
	if c.Line.Seed == 0 { // chance alone does not decide which operations there are
		for _, text := range c.Operations {
			result, _, _ := strings.Cut(text, ",")
			all = append(all, fact{cell.lock, cell.fault, result, true}, fact{cell.lock, "", text, true})
		}
	}
	return all
}

// Choose returns few and cheap candidates that together show every fact that all candidates show.
// It takes a drawn trial only where no probe and no named schedule shows a fact. The result depends
// on the candidates, but not on their order.
func Choose(all []Candidate) List {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Candidate) int { return compareKeys(a.Line.Key(), b.Line.Key()) })
	worst := map[fact]int{}
	for _, c := range all {
		cell := fact{lock: c.Line.Lock, fault: c.Line.Fault}
		if least, ok := worst[cell]; !ok || c.Order < least {
			worst[cell] = c.Order
		}
	}
	byLock := map[string][]int{} // facts of different locks do not overlap
	var locks []string
	for i, c := range all {
		if byLock[c.Line.Lock] == nil {
			locks = append(locks, c.Line.Lock)
		}
		byLock[c.Line.Lock] = append(byLock[c.Line.Lock], i)
	}
	var chosen List
	for _, lock := range locks {
		var taken []offer
		known := map[fact]bool{}
		for _, drawn := range []bool{false, true} {
			var offers []offer
			var lessons []*lesson
			for _, i := range byLock[lock] {
				if c := all[i]; (c.Line.Seed > 0) == drawn {
					offers = append(offers, offer{c, c.facts(worst)})
					lessons = append(lessons, &lesson{facts: c.facts(worst), cost: c.Cost})
				}
			}
			for _, i := range cheapest(lessons, known) {
				taken = append(taken, offers[i])
			}
		}
		chosen = append(chosen, pruned(taken)...)
	}
	chosen.Sort()
	return chosen
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Number, b.Number))
}

// offer is a candidate with the facts for which it may be kept.
type offer struct {
	Candidate
	facts []fact
}

// pruned returns the lines of the taken offers, without those all of whose facts others show too.
func pruned(taken []offer) (lines List) {
	count := map[fact]int{}
	for _, o := range taken {
		for _, f := range o.facts {
			count[f]++
		}
	}
	// The most expensive is left out first.
	slices.SortStableFunc(taken, func(a, b offer) int { return cmp.Compare(b.Cost, a.Cost) })
	owner := map[fact]bool{}
	var kept []offer
	for _, o := range taken {
		if !slices.ContainsFunc(o.facts, func(f fact) bool { return count[f] == 1 }) {
			for _, f := range o.facts {
				count[f]--
			}
			continue
		}
		kept = append(kept, o)
	}
	for _, o := range slices.Backward(kept) { // the cheapest trial that shows a fact is kept for it
		l := o.Line
		l.Also = append(l.Also, o.Facts...)
		for _, f := range o.facts {
			switch {
			case owner[f]:
			case f.operation:
				l.Operations = append(l.Operations, f.text)
			default:
				l.For = append(l.For, f.text)
			}
			owner[f] = true
		}
		slices.Sort(l.For)
		l.For = slices.Compact(l.For)
		slices.Sort(l.Operations)
		l.Operations = slices.Compact(l.Operations)
		l.Also = slices.DeleteFunc(l.Also, func(text string) bool { return slices.Contains(l.For, text) })
		lines = append(lines, l)
	}
	return lines
}
