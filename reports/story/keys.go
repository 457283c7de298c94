package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// keySteps returns steps for the events of keys that belong to the story (concerns), and for the
// keys of a blockage (leftSteps). Equal events on several nodes or at several times become one step. No step tells what
// became of a key before one tells who had set it.
func (t *teller) keySteps() []Step {
	var order []string
	steps := map[string]*repeated{}
	add := func(text string, x facts.Event, weight int) {
		if steps[text] == nil {
			order, steps[text] = append(order, text), &repeated{first: x.At, node: x.Node, most: map[string]int{}, weight: weight}
		}
		steps[text].add(x)
	}
	for _, x := range t.Events {
		if !t.concerns(x) {
			continue
		}
		text := t.keyWords(x)
		if text == "" {
			continue
		}
		add(text, x, part)
		if set, c, ok := t.untold(x); ok {
			add(t.settingWords(set, c, "{where}"), set, struck)
		}
	}
	out := t.leftSteps()
	for _, text := range order {
		r := steps[text]
		s := Step{At: r.first, On: r.node, Text: strings.ReplaceAll(text, "{where}", r.words()), Weight: r.weight}
		s.Group = r.lost // a loss joins the step about its node
		out = append(out, s)
	}
	return out
}

// deeds are the kinds of reasons that are a client's command or grant against a grant, another's or its own.
var deeds = []account.What{
	account.RecordShared, account.Overwritten, account.RemovedKey, account.LateRemoval, account.LateOwnRemoval, account.OwnRemoval, account.RenewedTooFar,
}

// reasons returns steps for the reasons of the finding that no step about a key tells: a command that removed or
// overwrote a grant beside others of the same key, such as another reader's, or prolonged one too far.
func (t *teller) reasons() []Step {
	var out []Step
	for _, r := range t.Finding.Account.Reasons {
		if !slices.Contains(deeds, r.What) || slices.ContainsFunc(t.Events, func(x facts.Event) bool {
			return r.Command != nil && x.Command == r.Command.Index && t.concerns(x) && t.keyWords(x) != ""
		}) {
			continue
		}
		s := Step{At: r.At, Weight: struck, Text: account.Style(Words).Say(r)}
		if len(r.Nodes) > 0 {
			s.On = r.Nodes[0]
		}
		out = append(out, s)
	}
	return out
}

// looks returns a step for each check of the owner that was true when it was made and outdated when the client acted on
// it: the client had read its own value in the key, and then changed another client's key.
func (t *teller) looks() []Step {
	var out []Step
	for _, x := range t.Events {
		c, ok := facts.CommandAt(t.Commands, x.Command)
		if !ok || !x.Foreign() || !t.concerns(x) || facts.OpOf(t.Ops, c.Op).F == history.FAcquire {
			continue
		}
		look, looked := t.lookedBefore(c)
		if looked && slices.ContainsFunc(t.Spans, func(s facts.Span) bool {
			return s.NodeKey == x.NodeKey && s.Owner == x.Client && s.From <= look.Served && look.Served < s.To
		}) {
			out = append(out, Step{At: look.Served, On: history.ClientName(x.Client), Weight: part, Text: fmt.Sprintf(
				"c%d's %s found the key on %s to be its own", x.Client, t.commandName(look), x.Node)})
		}
	}
	return out
}

// concerns reports whether a key's event belongs to the story.
func (t *teller) concerns(x facts.Event) bool {
	if x.Foreign() && x.At > t.lastCause() && !slices.Contains(t.Finding.Commands, x.Command) {
		return false
	}
	return x.At >= t.Start && x.At <= t.Finding.To+time.Millisecond && slices.Contains(t.LockKeys, x.NodeKey) &&
		(slices.Contains(t.Cast, x.Owner) || slices.Contains(t.Cast, x.Client) || x.Counter)
}

// repeated counts equal events on several nodes or at several times.
type repeated struct {
	first, last time.Duration
	node        string         // of the first event
	most        map[string]int // the number of events, by node
	lost        bool
	weight      int // of their step
}

func (r *repeated) add(x facts.Event) {
	r.last = x.At
	r.lost = r.lost || x.Kind == facts.Lost
	r.most[x.Node]++
}

// words returns where the events happened, and when the last one did: "on n0 and n1, by 1.200 s".
func (r *repeated) words() string {
	nodes := slices.SortedFunc(maps.Keys(r.most), wording.ByNumber)
	times := 0
	for _, n := range r.most {
		times = max(times, n)
	}
	switch {
	case times > 1:
		return fmt.Sprintf("on %s, %d times until %s", wording.List(nodes), times, wording.Instant(r.last))
	case len(nodes) > 1:
		return fmt.Sprintf("on %s, by %s", wording.List(nodes), wording.Instant(r.last))
	}
	return "on " + wording.List(nodes)
}

// lasts reports whether a key existed for most of a blockage: from its beginning, for at least half
// of it.
func lasts(s facts.Span, x Finding) bool {
	return s.From <= x.From && s.To >= x.From+(x.To-x.From)/2
}

// leftSteps returns steps for the keys of the story's clients that kept other clients out for most
// of a blockage.
func (t *teller) leftSteps() []Step {
	if !t.Finding.Blocks() {
		return nil
	}
	var out []Step
	for _, s := range t.Spans {
		if !slices.Contains(t.Cast, s.Owner) || !lasts(s, t.Finding) || t.setByHold(s) {
			continue
		}
		text := fmt.Sprintf("c%d's key was set on %s", s.Owner, s.Node)
		if x, c, ok := t.setBy(s); ok {
			if s.Forever {
				x.TTL = 0
			}
			text = t.settingWords(x, c, "on "+s.Node)
		} else if s.Forever {
			text += ", without a TTL"
		}
		out = append(out, Step{At: s.From, On: s.Node, Text: text, Weight: turning})
	}
	return out
}

// settingWords says which command set a key, and with which TTL.
func (t *teller) settingWords(x facts.Event, c history.Command, where string) string {
	text, life := fmt.Sprintf("c%d's %s", x.Client, t.commandName(c)), "without a TTL"
	if x.At-c.Sent > Lateness {
		text += fmt.Sprintf(", sent at %s, ran only now and", wording.Instant(c.Sent))
	}
	if x.TTL > 0 {
		life = "with a TTL of " + wording.Length(x.TTL)
	}
	return fmt.Sprintf("%s set the key %s %s", text, life, where)
}

// untold returns the event and the command that set the key that x struck, if no other step tells that before x.
func (t *teller) untold(x facts.Event) (facts.Event, history.Command, bool) {
	for _, s := range t.Spans {
		if s.NodeKey == x.NodeKey && s.Owner == x.Owner && s.From < x.At && x.At <= s.To {
			set, c, ok := t.setBy(s)
			told := slices.ContainsFunc(t.storyHolds, func(h checker.Hold) bool { return t.sets(h, s) && t.grantedAt(h) <= x.At })
			told = told || t.Finding.Blocks() && lasts(s, t.Finding) || t.concerns(set) && t.keyWords(set) != ""
			return set, c, ok && !told
		}
	}
	return facts.Event{}, history.Command{}, false
}

// setByHold reports whether the acquire of a hold in the story set the key. In that case, the hold
// already has a step.
func (t *teller) setByHold(s facts.Span) bool {
	return slices.ContainsFunc(t.storyHolds, func(h checker.Hold) bool { return t.sets(h, s) })
}

// sets reports whether the acquire of a hold set the key of a span.
func (t *teller) sets(h checker.Hold, s facts.Span) bool {
	return h.Client == s.Owner && h.From >= s.From && t.acquiredAt(h) <= s.From
}

// setBy returns the event and the command that set the key of a span.
func (t *teller) setBy(s facts.Span) (facts.Event, history.Command, bool) {
	for _, x := range t.Events {
		if x.Kind == facts.Set && x.Node == s.Node && x.Key == s.Key && x.At == s.From && x.Client == s.Owner {
			c, ok := facts.CommandAt(t.Commands, x.Command)
			return x, c, ok
		}
	}
	return facts.Event{}, history.Command{}, false
}

// keyWords describes the event of a key, with {where} in place of the nodes. It returns "" if the
// event needs no step, such as when a client took or released its own key.
func (t *teller) keyWords(x facts.Event) string {
	c, sent := facts.CommandAt(t.Commands, x.Command)
	who := fmt.Sprintf("c%d's %s", x.Client, t.commandName(c))
	if sent && x.At-c.Sent > Lateness {
		who += fmt.Sprintf(", sent at %s, arrived only now and", wording.Instant(c.Sent))
	}
	switch {
	case x.Counter && (x.Kind == facts.Lost || x.Kind == facts.Evicted):
		return "the counter of the fencing tokens was lost {where}"
	case x.Counter:
		return ""
	case x.Kind == facts.Expired:
		return fmt.Sprintf("c%d's key expired {where}", x.Owner)
	case x.Kind == facts.Lost && t.superseded(x) && t.promotedWithoutKey(x) != "":
		return fmt.Sprintf("c%d's key was lost with %s: %s had never got it", x.Owner, x.Node, t.promotedWithoutKey(x))
	case x.Kind == facts.Lost && t.superseded(x):
		return fmt.Sprintf("c%d's key was lost {where}", x.Owner)
	case x.Kind == facts.Gone:
		return fmt.Sprintf("c%d's key was not there any more {where}", x.Owner)
	case x.Kind == facts.Renewed && x.Client == x.Owner && t.Finding.Blocks() && t.Finding.Cause.RenewedUnheld() && x.At >= t.Finding.From:
		return fmt.Sprintf("c%d, which held nothing any more, went on prolonging the key with %s {where}", x.Client, t.commandName(c))
	case x.Kind == facts.Deleted && x.Client == x.Owner && sent && x.At-c.Sent > Lateness:
		return fmt.Sprintf("%s removed c%d's own new key {where}", who, x.Owner)
	case x.Kind == facts.Deleted && t.countsOn(x):
		return fmt.Sprintf("%s removed its own key {where}: c%d still counted on it", who, x.Client)
	case !x.Foreign():
		return ""
	case x.Kind == facts.Deleted:
		return fmt.Sprintf("%s removed the key that was c%d's, {where}%s", who, x.Owner, t.blindly(c))
	case x.Kind == facts.Renewed:
		return fmt.Sprintf("%s set the life of the key that was c%d's, {where}%s", who, x.Owner, t.standing(x))
	case x.Kind == facts.Set:
		return fmt.Sprintf("%s overwrote c%d's key {where}", who, x.Owner)
	}
	return ""
}

// countsOn reports whether a client removed its own key by a command of its hold, such as an inner release, and
// the finding rests on that.
func (t *teller) countsOn(x facts.Event) bool {
	return x.Client == x.Owner && t.because(account.OwnRemoval) && slices.ContainsFunc(t.storyHolds, func(h checker.Hold) bool {
		return h.Client == x.Client && h.From <= x.At && x.At < h.To
	})
}

// because reports whether the finding gives this reason.
func (t *teller) because(what account.What) bool {
	return slices.ContainsFunc(t.Finding.Account.Reasons, func(r account.Fact) bool { return r.What == what })
}

// standing says that the client that changed another client's key had released its own lock or had
// never held one; "" in any other case.
func (t *teller) standing(x facts.Event) string {
	for _, h := range slices.Backward(t.Focus.Holds) {
		switch {
		case h.Client != x.Client || h.From > x.At || t.Finding.Lock != "" && h.Lock != t.Finding.Lock:
		case h.To < x.At && h.ToWhy == account.ByRelease:
			return fmt.Sprintf(": c%d had given its own lock back at %s", x.Client, wording.Instant(h.To))
		default:
			return ""
		}
	}
	return fmt.Sprintf(": c%d held no lock", x.Client)
}

// promotedWithoutKey returns the replica that was promoted after its primary had lost a key, if
// replication to it had stopped before the key was set and stayed stopped until the loss; else "".
func (t *teller) promotedWithoutKey(x facts.Event) string {
	i := slices.IndexFunc(t.Ops, func(op history.Op) bool {
		return op.F == history.FPromote && op.Node != x.Node && op.Time >= x.At
	})
	claim := slices.IndexFunc(t.Spans, func(s facts.Span) bool {
		return s.Node == x.Node && s.Key == x.Key && s.Owner == x.Owner && s.To == x.At
	})
	if i < 0 || claim < 0 {
		return ""
	}
	heir, set := t.Ops[i].Node, t.Spans[claim].From
	if slices.ContainsFunc(t.Windows, func(w facts.Window) bool {
		behind := w.StopsReplication(heir) || w.Cuts(heir, x.Node)
		return w.Hits > 0 && behind && w.From <= set && w.To >= x.At
	}) {
		return heir
	}
	return ""
}

// superseded reports whether another client acquired the lock after a node had lost a key. If no
// client did, a replica may still have had the key.
func (t *teller) superseded(x facts.Event) bool {
	return slices.ContainsFunc(t.storyHolds, func(h checker.Hold) bool { return h.From > x.At && h.Client != x.Owner })
}
