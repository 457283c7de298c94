package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// linkTexts describe what faults did to links; the first that fits counts. {c} and {n} are clients and the nodes to
// which they are linked, {what} the commands, {until} the end. one is for clients with the same nodes; without it, each
// stands for every such group between before and after.
var linkTexts = []linkText{
	{history.Reset, "", "the connection between {c} and {n} broke", "connections broke: ", "of {c} to {n}", ""},
	{history.Delayed, history.Downstream, "", "the network held up ", "what {n} answered to {c}", "{what}{until}"},
	{history.Delayed, "", "", "the network held up ", "what {c} sent to {n}", "{what}{until}"},
	{"", history.Both, "the network between {c} and {n} was cut{until}", "the network cut off ", "{c} from {n}", "{until}"},
	{history.ReplyLost, history.Downstream, "", "replies were lost: ", "of {n} to {c}", "{what}"},
	{"", history.Downstream, "", "", "no reply of {n} reached {c}", "{until}"},
	{"", "", "", "", "nothing that {c} sent reached {n}", "{until}"},
}

type linkText struct {
	effect                   history.FaultEffect // "" = any
	direction                history.Direction   // "" = any
	one, before, each, after string
}

// linkWords describes what a fault did to the traffic between clients and nodes.
func (t *teller) linkWords(w facts.Window, until string) string {
	what, groups := t.traffic(w), linkGroups(w.Links)
	direction := cmp.Or(w.Links[0].Direction, history.Both)
	if what != "" && direction == history.Downstream && w.Effect == history.ReplyLost && len(w.Links) == 1 {
		return fmt.Sprintf("the reply of %s to %s's %s was lost", groups[0].nodes, groups[0].clients, what)
	}
	if what != "" {
		what = " (" + what + ")"
	}
	i := slices.IndexFunc(linkTexts, func(x linkText) bool {
		return (x.effect == "" || x.effect == w.Effect) && (x.direction == "" || x.direction == direction)
	})
	x := linkTexts[i]
	text := x.one
	if len(groups) > 1 || text == "" {
		text = x.before + strings.Repeat(x.each+", ", len(groups)-1) + x.each + x.after
	}
	for _, g := range groups {
		text = strings.Replace(strings.Replace(text, "{c}", g.clients, 1), "{n}", g.nodes, 1)
	}
	return strings.NewReplacer("{what}", what, "{until}", until).Replace(text)
}

// effectAt returns when a fault had its effect. A lost reply is dated after its command ran,
// although the fault struck the link before the command was sent.
func (t *teller) effectAt(w facts.Window) time.Duration {
	if w.Effect != history.ReplyLost {
		return w.From
	}
	var first time.Duration
	for _, c := range t.Commands {
		if c.Ran() && lostOn(w, c) && (first == 0 || c.Served < first) {
			first = c.Served
		}
	}
	if first == 0 {
		return w.From
	}
	return max(w.From, first+time.Microsecond)
}

// lostOn reports whether one of the fault's links carried the command, and the command got no reply
// and was sent during the fault, or at most Lateness before it.
func lostOn(w facts.Window, c history.Command) bool {
	return onLink(w, c) && c.Replied == 0 && c.Sent <= w.To && c.Sent >= w.From-Lateness
}

// onLink reports whether one of the fault's links carried the command. Commands of a connection's
// handshake do not count.
func onLink(w facts.Window, c history.Command) bool {
	return (c.N > 0 || c.Phase == "") && slices.ContainsFunc(w.Links, func(l history.Link) bool { return l.From == history.ClientName(c.Client) && l.To == c.Node })
}

// linkGroup lists clients and the nodes to which each of these clients is linked.
type linkGroup struct{ clients, nodes string }

// linkGroups groups clients that are linked to the same nodes. The text of a group then names only
// links that exist.
func linkGroups(links []history.Link) []linkGroup {
	nodes := map[string][]string{}
	for _, l := range links {
		if _, ok := l.Client(); ok {
			nodes[l.From] = append(nodes[l.From], l.To)
		}
	}
	var order []string
	clients := map[string][]string{}
	for _, c := range slices.SortedFunc(maps.Keys(nodes), wording.ByNumber) {
		slices.SortFunc(nodes[c], wording.ByNumber)
		where := wording.List(slices.Compact(nodes[c]))
		if clients[where] == nil {
			order = append(order, where)
		}
		clients[where] = append(clients[where], c)
	}
	var out []linkGroup
	for _, where := range order {
		out = append(out, linkGroup{wording.List(clients[where]), where})
	}
	return out
}

// traffic names the commands that a fault delayed or stopped, such as "DEL and SET".
func (t *teller) traffic(w facts.Window) string {
	var names []string
	for _, c := range t.Commands {
		if !onLink(w, c) || c.Sent > w.To || max(c.Replied, c.Served) < w.From && c.Replied > 0 {
			continue
		}
		late := c.Ran() && c.Served-c.Sent > Lateness || c.Replied > 0 && c.Replied-c.Served > Lateness
		if w.Effect == history.Delayed && !late || w.Effect != history.Delayed && !lostOn(w, c) {
			continue
		}
		if name := t.commandName(c); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1, 2, 3:
		return wording.List(names)
	}
	return strings.Join(names[:2], ", ") + " and others"
}
