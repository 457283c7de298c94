package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// WindowWords describes a fault's plan and its hits. closed is nil if the fault was never healed.
func WindowWords(opened history.Window, closed *history.Window) string {
	text := "it was never healed"
	if closed != nil {
		text = fmt.Sprintf("%d hit: %s", closed.Hits, impactWords(*closed))
	}
	if planned := planWords(opened.Planned); planned != "" {
		text = planned + "; " + text
	}
	return text
}

// impactWords says where a fault struck and what it hit. The caller names the target.
func impactWords(w history.Window) string {
	if w.Impact == nil {
		return "its trigger did not come"
	}
	i := *w.Impact
	where, what := placeWords(i.At), ""
	// If the two times are equal, the effect's words give the time.
	if wording.Instant(i.At.Time) != wording.Instant(i.From) {
		where = strings.TrimSpace(where + " at " + wording.Instant(i.At.Time))
	}
	if tell := effectWords[w.Effect]; tell != nil {
		what = tell(w, i)
	}
	return strings.Join(slices.DeleteFunc([]string{where, what}, func(s string) bool { return s == "" }), ": ")
}

// effectWords maps a fault's effect to the function that describes its hits.
var effectWords = map[history.FaultEffect]func(history.Window, history.Impact) string{
	history.Cut:       trafficWords("message", "dropped"),
	history.ReplyLost: trafficWords("message", "lost"),
	history.Delayed:   trafficWords("message", "held"),
	history.Reset:     trafficWords("connection", "reset"),
	history.Paused:    pauseWords,
	history.Crashed:   func(history.Window, history.Impact) string { return "stopped for ever" },
	history.Slowed:    func(_ history.Window, i history.Impact) string { return "at work " + lastedWords(i) },
	history.Hung:      func(history.Window, history.Impact) string { return "at work for ever" },
	history.Restarted: restartWords,
	history.Promoted:  failoverWords,
	history.Parted:    splitWords,
	history.ClockSet:  clockWords,
	history.Flushed: func(_ history.Window, i history.Impact) string {
		return counted(i.Scripts, "script") + " thrown away"
	},
	history.Evicted:   evictionWords,
	history.SlotMoved: migrationWords,
}

func trafficWords(noun, done string) func(history.Window, history.Impact) string {
	return func(_ history.Window, i history.Impact) string {
		return fmt.Sprintf("%s %s, %s", counted(i.Messages+i.Connections, noun), done, lastedWords(i))
	}
}

func pauseWords(w history.Window, i history.Impact) string {
	text := "frozen " + lastedWords(i)
	switch {
	case len(w.Nodes) > 0:
		text += fmt.Sprintf("; %s waited", counted(i.Commands, "command"))
	case i.Messages > 0:
		text += fmt.Sprintf("; %s waited at the gate", counted(i.Messages, "message"))
	}
	return text
}

func restartWords(_ history.Window, i history.Impact) string {
	fates := map[history.Fate]string{
		history.FateKept: "%s kept %s", history.FateLost: "%s lost %s", history.FateExpired: "%s's %s expired meanwhile",
		history.FateOutlasted: "%s was away for longer than the life of %s", history.FateRevived: "%s has %s again",
	}
	var words []string
	for _, k := range i.Keys {
		text := fmt.Sprintf(fates[k.Fate], k.Node, wording.Printable(string(k.Key)))
		if k.Spared {
			text += ", which a quorum of others has"
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		words = []string{"no key was there"}
	}
	return fmt.Sprintf("down by %s, back by %s: %s", wording.Instant(i.From), wording.Instant(i.From+i.For), strings.Join(words, "; "))
}

func failoverWords(_ history.Window, i history.Impact) string {
	h := i.Handover
	if h == nil {
		return "replication lagged " + lastedWords(i) + ", the primary lived on"
	}
	fates := map[history.Fate]string{
		history.FateLost: "lacks %s as it was", history.FateExpired: "lacks %s, which expired meanwhile", history.FateRevived: "still has %s",
	}
	var words []string
	for _, k := range i.Keys {
		words = append(words, fmt.Sprintf(fates[k.Fate], wording.Printable(string(k.Key))))
	}
	if len(words) == 0 {
		words = []string{"has all that the old primary had"}
	}
	differs := strings.Join(words, " and ")
	if h.How == history.PrimaryOutvoted {
		return fmt.Sprintf("%s reached by clients only, %s; %s elected, clients told by %s: it %s", h.From, lastedWords(i), h.To, wording.Instant(h.Told), differs)
	}
	return fmt.Sprintf("replication stopped %s; %s %s, %s promoted by %s: it %s", lastedWords(i), h.From, lossWords[h.How], h.To, wording.Instant(h.At), differs)
}

var lossWords = map[history.PrimaryLoss]string{
	history.PrimaryKilled: "killed", history.PrimaryFrozen: "frozen", history.PrimaryCutOff: "cut off",
	history.PrimaryForced: "replaced by force",
}

func splitWords(w history.Window, i history.Impact) string {
	return fmt.Sprintf("%s served by %s, the others by the old primary, %s; the old primary lost %s",
		wording.List(clientNames(w.Clients)), wording.List(w.Nodes), lastedWords(i), counted(i.Writes, "acknowledged write"))
}

func clockWords(w history.Window, i history.Impact) string {
	text := fmt.Sprintf("the clock was %s %s", offsetWords(i.Offset), lastedWords(i))
	switch {
	case len(w.Nodes) > 0:
		text += fmt.Sprintf(": the jump changed the lives of %s, the correction those of %s", counted(i.Shifted, "key"), counted(i.ShiftedBack, "key"))
		if i.Read > 0 {
			text += fmt.Sprintf("; %s without a TTL may hold a deadline computed from this clock", counted(i.Read, "key"))
		}
		return text
	case i.Holding:
		return text + "; with it, it held the lock, and asked for it " + many(i.Attempts, "time")
	}
	return text + "; with it, it asked for the lock " + many(i.Attempts, "time")
}

func evictionWords(_ history.Window, i history.Impact) string {
	var words []string
	for _, k := range i.Keys {
		words = append(words, k.Node+" evicted "+wording.Printable(string(k.Key)))
	}
	if len(words) == 0 {
		return "no key was there"
	}
	return strings.Join(words, "; ")
}

func migrationWords(_ history.Window, i history.Impact) string {
	if i.Handover == nil {
		return "no key was there to move"
	}
	var keys []string
	for _, k := range i.Keys {
		keys = append(keys, wording.Printable(string(k.Key)))
	}
	h := i.Handover
	return fmt.Sprintf("%s went from %s to %s at %s, everybody was told by %s", wording.List(keys), h.From, h.To, wording.Instant(h.At), wording.Instant(h.Told))
}

// lastedWords says how long a fault was in force, and which client's progress ended it.
func lastedWords(i history.Impact) string {
	text := "at " + wording.Instant(i.From)
	if i.For > 0 {
		text = fmt.Sprintf("from %s for %s", wording.Instant(i.From), wording.Length(i.For))
	}
	u := i.Until
	switch {
	case u == nil:
		return text
	case u.N == 0:
		return fmt.Sprintf("%s, until c%d began %s", text, u.Client, u.Step)
	}
	return fmt.Sprintf("%s, until c%d came to its %s", text, u.Client, placeCommand(*u))
}

// placeWords says where a fault struck, such as "c0 about to send DEL lock-0 to n0"; "" if the
// fault was planned for a time.
func placeWords(p history.Moment) string {
	side := map[history.When]string{
		history.Before: "c%d about to send %s to %s", history.Sent: "c%d having sent %s to %s", history.Replied: "c%d at the reply to its %s from %s",
	}[p.When]
	switch {
	case p.Step == "":
		return ""
	case p.N == 0 || side == "":
		return fmt.Sprintf("c%d at the beginning of %s", p.Client, p.Step)
	}
	return fmt.Sprintf(side, p.Client, placeCommand(p), p.Node)
}

func placeCommand(p history.Moment) string {
	if p.Command == "" {
		return fmt.Sprintf("%s command of %s", wording.Ordinal(p.N), p.Step)
	}
	return strings.TrimSpace(p.Command + " " + wording.Printable(string(p.Key)))
}

// planWords says when a fault was planned to begin and to end.
func planWords(t *history.Timing) string {
	if t == nil {
		return ""
	}
	var parts []string
	if t.At > 0 {
		parts = append(parts, "not before "+wording.Instant(t.At))
	}
	if t.After > 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s after fault %d", delayWords(t.Delay), t.After)))
	}
	if t.Arm != nil {
		parts = append(parts, "once "+triggerWords(*t.Arm))
	}
	if t.Point != nil {
		parts = append(parts, triggerWords(*t.Point))
	}
	switch {
	case t.Until != nil && t.For > 0:
		parts = append(parts, fmt.Sprintf("for %s and until %s", wording.Length(t.For), untilWords(t)))
	case t.Until != nil:
		parts = append(parts, "until "+untilWords(t))
	case t.For > 0:
		parts = append(parts, "for "+wording.Length(t.For))
	}
	return strings.Join(parts, ", ")
}

// untilWords describes the end of a fault that lasts until the trigger t.Until.
func untilWords(t *history.Timing) string {
	words := triggerWords(*t.Until)
	if t.Linger > 0 {
		words = fmt.Sprintf("%s after %s", wording.Length(t.Linger), words)
	}
	return fmt.Sprintf("%s, at most %s", words, wording.Length(t.Limit))
}

func delayWords(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return wording.Length(d)
}

// triggerWords describes a trigger, such as "c0 or c1 before the 2nd command of acquire to n0".
func triggerWords(t history.Trigger) string {
	s := strings.Join(clientNames(t.Clients), " or ")
	switch t.Who {
	case history.Other:
		s = "another client"
	case history.Same:
		s = "the same client"
	}
	side := map[history.When]string{history.Before: "before", history.Sent: "having sent"}[t.When]
	if side == "" {
		side = "at the reply to"
	}
	if t.N == 0 {
		s += " at the beginning of " + t.Step
	} else {
		s += fmt.Sprintf(" %s the %s command of %s", side, wording.Ordinal(t.N), t.Step)
		if t.Node != "" {
			s += " to " + t.Node
		}
	}
	if t.Skip > 0 {
		s += fmt.Sprintf(", after %d others", t.Skip)
	}
	return s
}

// counted returns a count with its noun, such as "1 message" or "2 messages".
func counted(n int, noun string) string { return fmt.Sprintf("%d %s", n, wording.Plural(n, noun)) }
