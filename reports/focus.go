package reports

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// found is one finding of a violated oracle.
type found struct {
	Oracle string
	Kind   locks.Kind // as the recipe declares it; empty: not declared
	checker.Finding
}

// label names the finding in a picture.
func (f found) label() string { return f.Oracle + ": " + string(f.Cause) }

// oracleRank orders oracles by how directly a finding of theirs shows harm.
var oracleRank = map[string]int{"exclusion": 1, "resource": 2, "reentrancy": 3, "extension": 4, "ownership": 5, "fencing": 6, "conduct": 7, "liveness": 8}

func rankOf(oracle string) int {
	if r, ok := oracleRank[oracle]; ok {
		return r
	}
	return len(oracleRank) + 1
}

// findings lists what the violated oracles of a trial found, the most telling
// first: what the recipe does not declare before all that it does; then in the order
// in which the campaign ranks flaws, limits after bugs and a blockage after everything
// else; then by oracle and time.
func findings(t trial.Result) []found {
	kind := map[[2]string]locks.Kind{}
	for _, f := range t.Flaws {
		kind[[2]string{f.Oracle, f.Cause}] = f.Kind
	}
	var all []found
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated {
			continue
		}
		for _, f := range v.Findings {
			all = append(all, found{Oracle: v.Oracle, Kind: kind[[2]string{v.Oracle, string(f.Cause)}], Finding: f})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(
			cmp.Compare(flawRank(a), flawRank(b)),
			cmp.Compare(rankOf(a.Oracle), rankOf(b.Oracle)),
			cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To),
			cmp.Compare(a.Cause, b.Cause),
		)
	})
	return all
}

func flawRank(f found) int {
	rank := map[locks.Kind]int{locks.Bug: 0, "": 1, locks.Limit: 2}[f.Kind]
	if f.Oracle == "liveness" {
		rank += 3
	}
	if f.Kind == "" && f.Cause != checker.Unclassified { // of that nobody knows what it is
		rank -= 6
	}
	return rank
}

// focus is the part of a trial that tells its most telling finding.
type focus struct {
	Finding  found
	Others   []found // the remaining findings
	From, To time.Duration
	End      time.Duration // of the whole trial
	Start    time.Duration // where the story begins: From without the margin
	// Cast are the finding's clients and those whose commands changed keys of
	// theirs meanwhile, in order.
	Cast []int
	reading
}

// focusOn picks the finding to tell and the time around it; false if the trial
// has no finding.
func focusOn(t trial.Result, e history.Evidence) (focus, bool) {
	all := findings(t)
	if len(all) == 0 {
		return focus{}, false
	}
	f := focus{Finding: all[0], Others: all[1:], End: endOf(e), reading: read(e, all[0].Lock)}
	from, to := f.Finding.From, max(f.Finding.From, f.Finding.To)
	for _, i := range f.Finding.Ops {
		if op, ok := opAt(e.Ops, i); ok {
			from, to = min(from, invokedAt(e.Ops, op)), max(to, op.Time)
		}
	}
	for _, i := range f.Finding.Commands {
		if c, ok := commandAt(e.Commands, i); ok {
			from, to = min(from, c.Sent), max(to, c.Sent, c.Served, c.Replied)
		}
	}
	for _, h := range f.involved() {
		from = min(from, acquiredAt(e.Ops, h))
		to = max(to, min(h.To, f.Finding.To+(f.Finding.To-from)/2))
	}
	f.Cast, from = f.cast(e, from, to)
	began := from
	for _, w := range f.wins {
		if w.Hits > 0 && w.matters(f.Cast) && w.From < to && !w.over(began) {
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

// cast lists everybody in the story that ends with x, and where it begins: with
// the holds and the keys under which they acted.
func (f focus) cast(e history.Evidence, from, to time.Duration) ([]int, time.Duration) {
	x := f.Finding
	all := slices.Clone(x.Clients)
	for _, i := range x.Commands {
		if c, ok := commandAt(e.Commands, i); ok {
			all = append(all, c.Client)
		}
	}
	for _, s := range f.spans {
		if x.Oracle == "liveness" && slices.Contains(f.keys, keyName{s.Node, s.Key}) && s.lasts(x) {
			all, from = append(all, s.Owner), min(from, s.From)
		}
	}
	for _, v := range f.events {
		if v.At >= from && v.At <= to && v.foreign() && slices.Contains(x.Clients, v.Owner) && slices.Contains(f.keys, keyName{v.Node, v.Key}) {
			all = append(all, v.Client)
		}
	}
	all = slices.DeleteFunc(all, func(c int) bool { return c < 0 })
	slices.Sort(all)
	all = slices.Compact(all)
	began := from
	for _, h := range f.sendersHolds(e, from) {
		all, from = append(all, h.Client), min(from, acquiredAt(e.Ops, h))
	}
	for _, h := range f.lastHolds(all) {
		// What ended before is another story, unless it left the blockage.
		if h.To >= x.From || x.Oracle == "liveness" && h.To >= began-(to-began) {
			from = min(from, acquiredAt(e.Ops, h))
		}
	}
	return all, from
}

// lastHolds are, of each of these clients, the hold that it had or had had last
// when the finding began.
func (f focus) lastHolds(clients []int) []checker.Hold {
	x := f.Finding
	var out []checker.Hold
	for _, c := range clients {
		for _, h := range slices.Backward(f.holds) {
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
	if op, ok := opAt(ops, h.Acquire); ok {
		return invokedAt(ops, op)
	}
	return h.From
}

// involved are the believed holds of the finding's clients that touch its interval.
func (f focus) involved() []checker.Hold {
	x := f.Finding
	var out []checker.Hold
	for _, h := range f.holds {
		if (x.Lock == "" || h.Lock == x.Lock) && slices.Contains(x.Clients, h.Client) && h.From <= x.To && h.To >= x.From {
			out = append(out, h)
		}
	}
	return out
}

// opAt returns the entry of that index.
func opAt(ops []history.Op, index int) (history.Op, bool) {
	i, ok := slices.BinarySearchFunc(ops, index, func(o history.Op, n int) int { return cmp.Compare(o.Index, n) })
	if !ok {
		return history.Op{}, false
	}
	return ops[i], true
}

// commandAt returns the command of that index.
func commandAt(commands []history.Command, index int) (history.Command, bool) {
	if index >= 0 && index < len(commands) && commands[index].Index == index {
		return commands[index], true
	}
	for _, c := range commands {
		if c.Index == index {
			return c, true
		}
	}
	return history.Command{}, false
}

// invokedAt is when the operation that op belongs to was invoked.
func invokedAt(ops []history.Op, op history.Op) time.Duration {
	if op.Type == history.Invoke {
		return op.Time
	}
	i, _ := slices.BinarySearchFunc(ops, op.Index, func(o history.Op, n int) int { return cmp.Compare(o.Index, n) })
	for i--; i >= 0; i-- {
		if o := ops[i]; o.Process == op.Process && o.Type == history.Invoke {
			return o.Time
		}
	}
	return op.Time
}

// faultWindow is one window of the nemesis.
type faultWindow struct {
	history.Window // as it was closed, or else opened
	From, To       time.Duration
	Open           bool // never closed
}

// over says whether the window belongs to what was before a time.
func (w faultWindow) over(began time.Duration) bool {
	return w.From < began && w.To <= began+time.Millisecond
}

// matters says whether a window can have struck one of these clients: it is
// aimed at one of them, or at no client.
func (w faultWindow) matters(clients []int) bool {
	aimed := w.aimedAt()
	return len(aimed) == 0 || slices.ContainsFunc(clients, func(c int) bool { return slices.Contains(aimed, c) })
}

// aimedAt are the clients that a window strikes, themselves or their links.
func (w faultWindow) aimedAt() []int {
	all := slices.Clone(w.Clients)
	for _, l := range w.Links {
		if c, ok := l.Client(); ok {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// servers are the nodes that a window strikes, themselves or the links between them.
func (w faultWindow) servers() []string {
	all := slices.Clone(w.Nodes)
	for _, l := range w.Links {
		if _, ok := l.Client(); !ok {
			all = append(all, l.From, l.To)
		}
	}
	slices.SortFunc(all, byNumber)
	return slices.Compact(all)
}

// stopsReplication says whether a window kept that replica behind the primary.
func (w faultWindow) stopsReplication(replica string) bool {
	return w.lagged() && slices.Contains(w.Nodes, replica)
}

// lagged says whether a window kept a replica behind the primary that it replaced.
func (w faultWindow) lagged() bool {
	return w.Effect == history.Promoted && w.Impact != nil && w.Impact.Handover != nil && w.Impact.Handover.How != history.PrimaryOutvoted
}

// cuts says whether a window cut two servers off from each other.
func (w faultWindow) cuts(a, b string) bool {
	return slices.ContainsFunc(w.Links, func(l history.Link) bool {
		return l.From == a && l.To == b || l.From == b && l.To == a
	})
}

// windows pairs the nemesis's windows, in order of their opening.
func windows(ops []history.Op) []faultWindow {
	type id struct {
		fault string
		n     int
	}
	var out []faultWindow
	open := map[id]int{}
	var end time.Duration
	for _, op := range ops {
		end = op.Time
		if op.Process != history.Nemesis || op.Window == nil {
			continue
		}
		w, k := op.Window, id{op.Window.Fault, op.Window.ID}
		if op.Type == history.Invoke {
			open[k] = len(out)
			out = append(out, faultWindow{Window: *w, From: op.Time, Open: true})
			continue
		}
		if i, ok := open[k]; ok {
			out[i].Window, out[i].To, out[i].Open = *w, op.Time, false
			delete(open, k)
		}
	}
	for i := range out {
		if out[i].Open {
			out[i].To = end
		}
	}
	return out
}
