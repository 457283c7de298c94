package facts

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
)

// Window is the time during which one fault was in force.
type Window struct {
	history.Window // as it was closed, or else opened
	From, To       time.Duration
	Open           bool // never closed
}

// Over says whether the window belongs to what was before a time.
func (w Window) Over(began time.Duration) bool {
	return w.From < began && w.To <= began+time.Millisecond
}

// Matters says whether a window can have struck one of these clients: it is
// aimed at one of them, or at no client.
func (w Window) Matters(clients []int) bool {
	aimed := w.AimedAt()
	return len(aimed) == 0 || slices.ContainsFunc(clients, func(c int) bool { return slices.Contains(aimed, c) })
}

// AimedAt are the clients that a window strikes, themselves or their links.
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

// AimsAtNode says whether a window is aimed at the node. A window between a client
// and a node, or over both, is aimed at the client.
func (w Window) AimsAtNode(node string) bool {
	return len(w.AimedAt()) == 0 && slices.Contains(w.Servers(), node)
}

// Servers are the nodes that a window strikes, themselves or the links between them.
func (w Window) Servers() []string {
	all := slices.Clone(w.Nodes)
	for _, l := range w.Links {
		if _, ok := l.Client(); !ok {
			all = append(all, l.From, l.To)
		}
	}
	slices.SortFunc(all, prose.ByNumber)
	return slices.Compact(all)
}

// StopsReplication says whether a window kept that replica behind the primary.
func (w Window) StopsReplication(replica string) bool {
	return w.Lagged() && slices.Contains(w.Nodes, replica)
}

// Lagged says whether a window kept a replica behind the primary that it replaced.
func (w Window) Lagged() bool {
	return w.Effect == history.Promoted && w.Impact != nil && w.Impact.Handover != nil && w.Impact.Handover.How != history.PrimaryOutvoted
}

// Cuts says whether a window cut two servers off from each other.
func (w Window) Cuts(a, b string) bool {
	return slices.ContainsFunc(w.Links, func(l history.Link) bool {
		return l.From == a && l.To == b || l.From == b && l.To == a
	})
}

// BeforeSending names the command that one of these clients was about to send when the
// fault struck; "" if it struck elsewhere.
func (w Window) BeforeSending(clients ...int) string {
	if w.Impact == nil || w.Impact.At.When != history.Before || !slices.Contains(clients, w.Impact.At.Client) {
		return ""
	}
	return w.Impact.At.Command
}

// windows pairs the nemesis's windows, in order of their opening.
func windows(ops []history.Op) []Window {
	type id struct {
		fault string
		n     int
	}
	var out []Window
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
			out = append(out, Window{Window: *w, From: op.Time, Open: true})
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

// Split is a time during which a second primary served some clients.
type Split struct {
	Node     string
	Clients  []string
	From, To time.Duration // To = 0: it did not end
}

// Splits are all of them, in order.
func Splits(ops []history.Op) []Split {
	var out []Split
	for _, op := range ops {
		n := len(out)
		open := n > 0 && out[n-1].To == 0 && out[n-1].Node == op.Node
		switch {
		case op.F == history.FSplit && open:
			out[n-1].Clients = append(out[n-1].Clients, "c"+strconv.Itoa(op.Client))
		case op.F == history.FSplit:
			out = append(out, Split{Node: op.Node, Clients: []string{"c" + strconv.Itoa(op.Client)}, From: op.Time})
		case op.F == history.FPromote && open:
			out[n-1].To = op.Time
		}
	}
	return out
}
