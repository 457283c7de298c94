package story

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// Trial is a trial as values: what a story is told of, and a timeline drawn of.
type Trial struct {
	// Title names the trial in its picture.
	Title    string
	Verdicts []checker.Verdict
	// Declared are the flaws that the lock is known to have, with their kinds: what is
	// not among them was not expected.
	Declared []locks.Flaw
	history.Evidence
}

// Finding is one finding of a violated oracle.
type Finding struct {
	Oracle string
	Kind   locks.Kind // as Trial.Declared has it; empty: not declared
	checker.Finding
	oracle oracle
}

// findings lists what the violated oracles of a trial found, the most telling first. An
// undeclared finding comes before all declared ones, if it has a cause. A limit comes after
// a bug, and a blockage after everything else. Then oracle and time decide.
func findings(t Trial) []Finding {
	kind := map[[2]string]locks.Kind{}
	for _, f := range t.Declared {
		kind[[2]string{f.Oracle, f.Cause}] = f.Kind
	}
	var all []Finding
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated {
			continue
		}
		for _, f := range v.Findings {
			all = append(all, Finding{Oracle: v.Oracle, oracle: oracleOf(v.Oracle), Kind: kind[[2]string{v.Oracle, string(f.Cause)}], Finding: f})
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(flawRank(a), flawRank(b)),
			cmp.Compare(a.oracle.rank, b.oracle.rank),
			cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To),
			cmp.Compare(a.Cause, b.Cause),
		)
	})
	return all
}

func flawRank(f Finding) int {
	rank := map[locks.Kind]int{locks.Bug: 0, "": 1, locks.Limit: 2}[f.Kind]
	if f.oracle.blocks {
		rank += 3
	}
	if f.Kind == "" && f.Cause != checker.Unclassified { // of that nobody knows what it is
		rank -= 6
	}
	return rank
}

// Focus is the most telling finding of a trial, with the part of the trial that tells it.
type Focus struct {
	Trial
	Finding  Finding
	Others   []Finding // the remaining findings
	From, To time.Duration
	End      time.Duration // of the whole trial
	Start    time.Duration // where the story begins: From without the margin
	// Cast are the finding's clients and those whose commands changed keys of
	// theirs meanwhile, in order.
	Cast []int
	facts.Reading
}

// FocusOn picks the finding to tell and the time around it. It is false if no oracle was
// violated, or none that was names a finding.
func FocusOn(t Trial) (Focus, bool) {
	all := findings(t)
	if len(all) == 0 {
		return Focus{}, false
	}
	f := Focus{Trial: t, Finding: all[0], Others: all[1:], End: facts.End(t.Evidence), Reading: facts.Read(t.Evidence, all[0].Lock)}
	from, to := f.Finding.From, max(f.Finding.From, f.Finding.To)
	for _, i := range f.Finding.Ops {
		if op, ok := facts.OpAt(f.Ops, i); ok {
			from, to = min(from, facts.InvokedAt(f.Ops, op)), max(to, op.Time)
		}
	}
	for _, i := range f.Finding.Commands {
		if c, ok := facts.CommandAt(f.Commands, i); ok {
			from, to = min(from, c.Sent), max(to, c.Sent, c.Served, c.Replied)
		}
	}
	for _, h := range f.Involved() {
		from = min(from, acquiredAt(f.Ops, h))
		to = max(to, min(h.To, f.Finding.To+(f.Finding.To-from)/2))
	}
	f.Cast, from = f.cast(from, to)
	began := from
	for _, w := range f.Windows {
		if w.Hits > 0 && w.Matters(f.Cast) && w.From < to && !w.Over(began) {
			from = min(from, max(w.From, began-(to-began)/2))
		}
	}
	f.Start = from
	margin := max((to-from)/12, 2*time.Millisecond)
	f.From, f.To = max(0, from-margin), min(f.End, to+margin)
	if f.Finding.Forever {
		f.To = f.End
	}
	if f.To-f.From > f.End*2/3 {
		f.From, f.To = 0, f.End
	}
	return f, true
}

// cast lists the clients of the story, and when the story begins: with the holds and the
// keys under which they acted.
func (f Focus) cast(from, to time.Duration) ([]int, time.Duration) {
	x := f.Finding
	all := slices.Clone(x.Clients)
	for _, i := range x.Commands {
		if c, ok := facts.CommandAt(f.Commands, i); ok {
			all = append(all, c.Client)
		}
	}
	for _, s := range f.Spans {
		if x.oracle.blocks && slices.Contains(f.LockKeys, s.Where()) && lasts(s, x) {
			all, from = append(all, s.Owner), min(from, s.From)
		}
	}
	for _, v := range f.Events {
		if v.At >= from && v.At <= to && v.Foreign() && slices.Contains(x.Clients, v.Owner) && slices.Contains(f.LockKeys, v.Where()) {
			all = append(all, v.Client)
		}
	}
	all = slices.DeleteFunc(all, func(c int) bool { return c < 0 })
	slices.Sort(all)
	all = slices.Compact(all)
	began := from
	for _, h := range f.sendersHolds(from) {
		all, from = append(all, h.Client), min(from, acquiredAt(f.Ops, h))
	}
	for _, h := range f.lastHolds(all) {
		// What ended before is another story, unless it left the blockage.
		if h.To >= x.From || x.oracle.blocks && h.To >= began-(to-began) {
			from = min(from, acquiredAt(f.Ops, h))
		}
	}
	return all, from
}

// lastHolds are the last hold of each of these clients that began before the finding did.
func (f Focus) lastHolds(clients []int) []checker.Hold {
	x := f.Finding
	var out []checker.Hold
	for _, c := range clients {
		for _, h := range slices.Backward(f.Holds) {
			if h.Client == c && h.From <= x.From && (x.Lock == "" || h.Lock == x.Lock) {
				out = append(out, h)
				break
			}
		}
	}
	return out
}

// acquiredAt is when the acquire of a hold was invoked.
func acquiredAt(ops []history.Op, h checker.Hold) time.Duration {
	if op, ok := facts.OpAt(ops, h.Acquire); ok {
		return facts.InvokedAt(ops, op)
	}
	return h.From
}

// Involved are the believed holds of the finding's clients that touch its interval.
func (f Focus) Involved() []checker.Hold {
	x := f.Finding
	var out []checker.Hold
	for _, h := range f.Holds {
		if (x.Lock == "" || h.Lock == x.Lock) && slices.Contains(x.Clients, h.Client) && h.From <= x.To && h.To >= x.From {
			out = append(out, h)
		}
	}
	return out
}
