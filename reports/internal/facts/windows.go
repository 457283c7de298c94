package facts

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// Window is the time during which one fault was in force. It lasts to the trial's end if the fault
// hung a client or if no entry of the history closes the window.
type Window struct {
	history.Window // from the closing entry; if Open, from the opening entry
	From, To       time.Duration
	Open           bool // whether no entry closes the window
}

// Over reports whether the fault was over when something began at the given time: the window
// opened before that time, and closed at most 1 ms after it.
func (w Window) Over(began time.Duration) bool {
	return w.From < began && w.To <= began+time.Millisecond
}

// Matters reports whether the fault can have struck one of the clients: the fault is aimed at one
// of them or at no client.
func (w Window) Matters(clients []int) bool {
	aimed := w.AimedAt()
	return len(aimed) == 0 || slices.ContainsFunc(clients, func(c int) bool { return slices.Contains(aimed, c) })
}

// AimedAt returns the clients at which the fault is aimed, either directly or through their links.
func (w Window) AimedAt() []int {
	all := slices.Clone(w.Clients)
	for _, l := range w.Links {
		if c, ok := l.Client(); ok {
			all = append(all, c)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// AimsAtNode reports whether the fault is aimed at the node. It is false for a fault that is also
// aimed at a client or a client's link.
func (w Window) AimsAtNode(node string) bool {
	return len(w.AimedAt()) == 0 && slices.Contains(w.Servers(), node)
}

// Servers returns the nodes at which the fault is aimed, either directly or through links between
// nodes.
func (w Window) Servers() []string {
	all := slices.Clone(w.Nodes)
	for _, l := range w.Links {
		if _, ok := l.Client(); !ok {
			all = append(all, l.From, l.To)
		}
	}
	slices.SortFunc(all, wording.ByNumber)
	return slices.Compact(all)
}

// StopsReplication reports whether the fault kept the replica behind its primary.
func (w Window) StopsReplication(replica string) bool {
	return w.Lagged() && slices.Contains(w.Nodes, replica)
}

// Lagged reports whether the fault kept a replica behind its primary before promoting that
// replica.
func (w Window) Lagged() bool {
	return w.Effect == history.Promoted && w.Impact != nil && w.Impact.Handover != nil && w.Impact.Handover.How != history.PrimaryOutvoted
}

// Cuts reports whether the fault is aimed at the link between the two servers.
func (w Window) Cuts(a, b string) bool {
	return slices.ContainsFunc(w.Links, func(l history.Link) bool {
		return l.From == a && l.To == b || l.From == b && l.To == a
	})
}

// BeforeSending returns the command that one of the clients was about to send when the
// fault struck; "" if it struck at another point.
func (w Window) BeforeSending(clients ...int) string {
	if w.Impact == nil || w.Impact.At.When != history.Before || !slices.Contains(clients, w.Impact.At.Client) {
		return ""
	}
	return w.Impact.At.Command
}

// windows returns the windows of the nemesis's faults, in order of opening. end is the trial's end.
func windows(pairs []history.Pair, end time.Duration) (out []Window) {
	for _, p := range pairs {
		if p.Invoke.Window == nil {
			continue
		}
		w := Window{Window: *p.Invoke.Window, From: p.Invoke.Time, To: end, Open: p.Complete == nil}
		if !w.Open {
			w.Window = *p.Complete.Window
		}
		if !w.Open && !w.Hangs() {
			w.To = p.Complete.Time
		}
		out = append(out, w)
	}
	return out
}

// HungClients returns the names of the clients that hang in their work, such as "c0", sorted.
func HungClients(ops []history.Op) []string {
	var names []string
	for _, op := range ops {
		if name := history.ClientName(op.Client); op.Event(history.FHung) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, wording.ByNumber)
	return names
}

// Split is a time during which a second primary served some clients.
type Split struct {
	Node     string
	Old      string // the primary that Node replaces; "" = the primary from the start
	Clients  []string
	From, To time.Duration // To = 0: the split did not end
}

// Splits returns all splits, in order of time.
func Splits(ops []history.Op) []Split {
	var out []Split
	primary := "" // the latest node that was promoted, if nodes have only one primary
	for _, op := range ops {
		if op.F != history.FSplit && op.F != history.FPromote {
			continue
		}
		open := slices.IndexFunc(out, func(s Split) bool { return s.To == 0 && s.Node == op.Node })
		switch {
		case op.F == history.FSplit && open >= 0:
			out[open].Clients = append(out[open].Clients, history.ClientName(op.Client))
		case op.F == history.FSplit:
			out = append(out, Split{Node: op.Node, Old: cmp.Or(op.From, primary), Clients: []string{history.ClientName(op.Client)}, From: op.Time})
		case open >= 0:
			out[open].To = op.Time
		}
		if op.F == history.FPromote && op.From == "" {
			primary = op.Node
		}
	}
	return out
}
