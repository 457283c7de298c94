package story

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// Trial is the input for a story or a timeline.
type Trial struct {
	// Title names the trial in its picture.
	Title    string
	Verdicts []checker.Verdict
	// Declared are the lock's known flaws. Any other finding is unexpected.
	Declared []locks.Flaw
	// Remedied says what remedies do about the trial's violations; nil = none was tried.
	Remedied *remedy.Effects
	history.Evidence
}

// Finding is one finding of a violated oracle.
type Finding struct {
	Oracle string
	Kind   locks.Kind // bug or limit, as Trial.Declared has it; "" if not declared
	checker.Finding
	oracle checker.Oracle
}

// findings returns the findings of a trial's violated oracles, the most telling first. Undeclared
// findings with a cause come before all others. After them come bugs, unclassified findings, limits
// and, in the same order, blockages. Among equals, the oracle's rank and then the time decide.
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
			all = append(all, Finding{Oracle: v.Oracle, oracle: checker.OracleNamed(v.Oracle), Kind: kind[[2]string{v.Oracle, string(f.Cause)}], Finding: f})
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(flawRank(a), flawRank(b)),
			cmp.Compare(a.oracle.Rank, b.oracle.Rank),
			cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To),
			cmp.Compare(a.Cause, b.Cause),
		)
	})
	return all
}

func flawRank(f Finding) int {
	rank := map[locks.Kind]int{locks.Bug: 0, "": 1, locks.Limit: 2}[f.Kind]
	if f.Blocks() {
		rank += 3
	}
	if f.Kind == "" && f.Cause != checker.Unclassified { // an unclassified finding explains nothing
		rank -= 6
	}
	return rank
}

// Focus is the most telling finding of a trial, with the part of the trial around it.
type Focus struct {
	Trial
	Finding  Finding
	Others   []Finding // the remaining findings
	From, To time.Duration
	End      time.Duration // end of the whole trial
	Start    time.Duration // when the story begins; From is a margin earlier
	// Cast are the clients of the story, in no order: the finding's clients, the senders of the
	// finding's commands, clients that changed keys of the finding's clients, holders that changed
	// any other client's key, and clients whose keys block.
	Cast []int
	facts.Reading
}

// FocusOn picks the most telling finding and the time around it. It returns false if no violated
// oracle has a finding.
func FocusOn(t Trial) (Focus, bool) {
	all := findings(t)
	if len(all) == 0 {
		return Focus{}, false
	}
	f := Focus{Trial: t, Finding: all[0], Others: all[1:], End: facts.End(t.Evidence), Reading: facts.Read(t.Evidence, all[0].Lock)}
	from, to := f.Finding.From, max(f.Finding.From, f.Finding.To)
	for _, i := range f.Finding.Ops {
		if op, ok := facts.OpAt(f.Ops, i); ok {
			from, to = min(from, f.beganAt(op)), max(to, op.Time)
		}
	}
	for _, c := range f.commandsAt(f.Finding.Commands) {
		from, to = min(from, c.Sent), max(to, c.Sent, c.Served, c.Replied)
	}
	for _, h := range f.Involved() {
		from = min(from, f.acquiredAt(h))
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

// cast returns the clients of the story and the time at which the story begins. from and to are the
// story's first and last instant so far. The story begins earlier than from if one of these began
// earlier: a key that blocks, or the acquire of a hold that belongs to the story.
func (f Focus) cast(from, to time.Duration) ([]int, time.Duration) {
	x := f.Finding
	all := slices.Clone(x.Clients)
	for _, c := range f.commandsAt(x.Commands) {
		all = append(all, c.Client)
	}
	for _, s := range f.Spans {
		if x.Blocks() && slices.Contains(f.LockKeys, s.NodeKey) && lasts(s, x) {
			all, from = append(all, s.Owner), min(from, s.From)
		}
	}
	for _, v := range f.Events {
		if v.At >= from && v.At <= to && v.Foreign() && slices.Contains(x.Clients, v.Owner) && slices.Contains(f.LockKeys, v.NodeKey) {
			all = append(all, v.Client)
		}
	}
	all = slices.DeleteFunc(all, func(c int) bool { return c < 0 })
	slices.Sort(all)
	all = slices.Compact(all)
	began := from
	for _, h := range f.sendersHolds(from) {
		if from = min(from, f.acquiredAt(h)); !slices.Contains(all, h.Client) {
			all = append(all, h.Client)
		}
	}
	for _, h := range f.lastHolds(all) {
		// An earlier hold belongs to another story, with two exceptions: it may have caused the
		// blockage, or the operation that broke down may have been about to end it.
		if h.To >= x.From || x.Breaks() || x.Blocks() && h.To >= began-(to-began) {
			from = min(from, f.acquiredAt(h))
		}
	}
	return all, from
}

// commandsAt returns the commands with the indices, without those that the evidence lacks.
func (f Focus) commandsAt(indices []int) (all []history.Command) {
	for _, i := range indices {
		if c, ok := facts.CommandAt(f.Commands, i); ok {
			all = append(all, c)
		}
	}
	return all
}

// lastHolds returns each client's last hold that began before the finding.
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

// beganAt returns when the operation of an entry was invoked. An event belongs to the operation, or to the fault,
// before it.
func (f Focus) beganAt(op history.Op) time.Duration {
	for _, p := range slices.Backward(f.Pairs) {
		if p.Invoke.Process == op.Process && p.Invoke.Index <= op.Index {
			return p.Invoke.Time
		}
	}
	return op.Time
}

// acquiredAt returns when a hold's acquire was invoked.
func (f Focus) acquiredAt(h checker.Hold) time.Duration {
	if p, ok := f.Pair(h.Acquire); ok {
		return p.Invoke.Time
	}
	return h.From
}

// Involved returns the holds of the finding's clients that overlap the harm in time. A hold is a
// time during which a client believed that it held the lock.
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
