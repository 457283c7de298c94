package story

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// lastCause returns the latest time at which a cause of the harm can have happened: 1 ms after the
// beginning of an overlap of holds, or the end of any other harm.
func (t *teller) lastCause() time.Duration {
	if t.Finding.Overlaps() {
		return t.Finding.From + time.Millisecond
	}
	return t.Finding.To
}

// faultSteps returns steps for the faults, splits and events that may have affected the story's
// clients and caused the harm.
func (t *teller) faultSteps() []Step {
	var out []Step
	for _, w := range t.Windows {
		if w.Hits == 0 || !w.Matters(t.Cast) || w.Over(t.Start) && !t.leftBehind(w) || w.From > t.lastCause() {
			continue
		}
		if text := t.windowWords(w); text != "" {
			out = append(out, Step{At: t.effectAt(w), On: aimedAtOne(w), Text: text, Weight: struck})
		}
	}
	for _, s := range facts.Splits(t.Ops) {
		if s.From <= t.lastCause() && (s.To == 0 || s.To >= t.Start) {
			text := fmt.Sprintf("the network split: from now on %s served %s as a second primary, beside the old one", s.Node, wording.List(s.Clients))
			out = append(out, Step{At: s.From, On: s.Node, Text: text, Weight: struck})
		}
	}
	for _, op := range t.Ops {
		if op.Process != history.Nemesis || op.Window != nil || op.Time > t.lastCause() || !t.belongsToStory(op) || t.setsRight(op) {
			continue
		}
		if text := t.eventStep(op); text != "" {
			out = append(out, Step{At: op.Time, On: placeOf(op), Text: text, Weight: struck, Group: op.Node != ""})
		}
	}
	return out
}

// aimedAtOne returns the one client or node at which a fault was aimed; "" for several or none.
func aimedAtOne(w facts.Window) string {
	all := clientNames(w.AimedAt())
	if len(all) == 0 {
		all = w.Servers()
	}
	if len(all) != 1 {
		return ""
	}
	return all[0]
}

// placeOf returns the client or the node of an entry; "" if it has neither.
func placeOf(op history.Op) string {
	if op.Client >= 0 {
		return history.ClientName(op.Client)
	}
	return op.Node
}

// leftBehind reports whether a fault kept a replica behind its primary until the story began. Such
// a fault belongs to the story although it began earlier, because that replica was then promoted.
func (t *teller) leftBehind(w facts.Window) bool {
	return w.Lagged() && w.To >= t.Start
}

// belongsToStory reports whether an event belongs to the story: it happened after the story's
// start, or its effect lasted until that start. An event of a client outside the cast does not.
func (t *teller) belongsToStory(op history.Op) bool {
	if op.Client >= 0 && !slices.Contains(t.Cast, op.Client) {
		return false
	}
	if op.Time >= t.Start {
		return true
	}
	kind := op.EventKind()
	lasts := len(kind.EndedBy) > 0 && (op.Offset != 0 || !kind.HasOffset)
	return lasts && !slices.ContainsFunc(t.Ops, func(later history.Op) bool {
		return later.Index > op.Index && later.Time < t.Start && later.Ends(op)
	})
}

// windowWords describes a fault and its effect on commands; "" if steps about events or about
// another fault describe it better.
func (t *teller) windowWords(w facts.Window) string {
	until := ""
	if w.To-w.From >= 2*time.Millisecond && !w.Open {
		until = " until " + wording.Instant(w.To)
	}
	switch {
	case len(w.Links) > 0 && len(w.AimedAt()) > 0:
		return t.linkWords(w, until)
	case len(w.Links) > 0:
		return serverLinkWords(w, until)
	case w.Effect == history.Paused && len(w.Nodes) > 0:
		those := "it"
		if len(w.Servers()) > 1 {
			those = "them"
		}
		return fmt.Sprintf("%s stopped answering%s; what was sent to %s meanwhile waited there", wording.List(w.Servers()), until, those)
	case w.Effect == history.Paused:
		return freezeWords(w, until)
	case w.Effect == history.Slowed:
		return fmt.Sprintf("%s worked%s; its timers ran on", wording.List(clientNames(w.AimedAt())), until)
	case t.describedByEvents(w):
		return ""
	case w.Lagged() && t.cutOff(w):
		return ""
	case w.Lagged():
		return fmt.Sprintf("%s stopped getting what the primary wrote", wording.List(w.Servers()))
	}
	text := w.Fault
	if target := w.Target(); target != "" {
		text += " struck " + target
	}
	if w.Impact != nil {
		text += ": " + impactWords(w.Window)
	}
	return text
}

func serverLinkWords(w facts.Window, until string) string {
	ends := wording.List(w.Servers())
	switch w.Effect {
	case history.Delayed:
		return fmt.Sprintf("the network between %s held up what they wrote to each other%s", ends, until)
	case history.Reset:
		return fmt.Sprintf("the connections between %s broke", ends)
	}
	return fmt.Sprintf("the network between %s was cut%s: neither got what the other wrote", ends, until)
}

// freezeWords says that clients froze, and if known, which command they were about to send.
func freezeWords(w facts.Window, until string) string {
	text := wording.List(clientNames(w.Clients)) + " froze" + until
	if command := w.BeforeSending(w.Clients...); command != "" {
		text += ", when it was about to send " + command
	}
	return text + ", as a process does in a long garbage collection"
}

// cutOff reports whether the network had already cut the replica off from its primary when window
// w stopped replication and the primary was killed. In that case, the cut stopped replication.
func (t *teller) cutOff(w facts.Window) bool {
	killed := func(node string) bool {
		return slices.ContainsFunc(t.Ops, func(op history.Op) bool {
			return op.F == history.FNodeDown && op.Node == node && op.Time >= w.From && op.Time <= w.To
		})
	}
	behind := func(l history.Link) bool {
		return slices.Contains(w.Nodes, l.From) && killed(l.To) || slices.Contains(w.Nodes, l.To) && killed(l.From)
	}
	return slices.ContainsFunc(t.Windows, func(v facts.Window) bool {
		return v.Hits > 0 && v.From <= w.From && v.To >= w.From && slices.ContainsFunc(v.Links, behind)
	})
}

// describedByEvents reports whether the events of a fault describe all its effects: a crash, a clock's
// jump, a node's death or return, an eviction, a split, or a promotion. A promotion does not describe
// them all if the fault also stopped replication.
func (t *teller) describedByEvents(w facts.Window) bool {
	clients, nodes := w.AimedAt(), w.Servers()
	return slices.ContainsFunc(t.Ops, func(op history.Op) bool {
		switch kind := op.EventKind(); {
		case !kind.Injected || op.Time < w.From-time.Millisecond || op.Time > w.To+time.Millisecond:
			return false
		case op.F == history.FPromote:
			return !w.Lagged()
		case kind.Of == history.OfClient:
			return slices.Contains(clients, op.Client)
		}
		return slices.Contains(nodes, op.Node)
	})
}

// eventStep describes an event of the nemesis; "" if the event needs no step.
func (t *teller) eventStep(op history.Op) string {
	text := eventTexts[op.F].step
	switch op.F {
	case history.FCrash:
		for _, w := range t.Windows {
			command := w.BeforeSending(op.Client)
			if command != "" && w.Effect == history.Crashed && w.From <= op.Time && op.Time <= w.To+time.Millisecond {
				text += " before it could send " + command
			}
		}
	case history.FPromote:
		if slices.ContainsFunc(facts.Splits(t.Ops), func(s facts.Split) bool { return s.To == op.Time && s.Node == op.Node }) {
			text = "the split ended: {node} is the only primary, and the other one dropped the writes that it alone had"
		}
	case history.FEvict, history.FMigrate:
		if len(op.Keys) == 0 {
			return ""
		}
	}
	if op.EventKind().Breakdown && t.Finding.Breaks() {
		return ""
	}
	return filled(text, op, "{jump}", t.jumpWords(op))
}

// jumpWords says by how much a clock was set wrong, and until when.
func (t *teller) jumpWords(op history.Op) string {
	if op.Offset == 0 {
		return "was set right again"
	}
	for _, later := range t.Ops {
		switch {
		case later.Index <= op.Index || !sameClock(later, op):
			continue
		case later.Offset != 0:
		case later.Time-op.Time < time.Millisecond:
			return "jumped: it was " + offsetWords(op.Offset) + ", and was set right at once"
		default:
			return "jumped: it was " + offsetWords(op.Offset) + " until " + wording.Instant(later.Time)
		}
		break
	}
	return "jumped: it is now " + offsetWords(op.Offset)
}

// setsRight reports whether an event corrects a clock and the step about that clock's jump already
// says so.
func (t *teller) setsRight(op history.Op) bool {
	if op.Offset != 0 {
		return false
	}
	var before history.Op
	for _, earlier := range t.Ops {
		if earlier.Index < op.Index && sameClock(op, earlier) {
			before = earlier
		}
	}
	return before.Offset != 0 && t.belongsToStory(before)
}

func sameClock(op, earlier history.Op) bool { return op.F == earlier.F && op.Ends(earlier) }
