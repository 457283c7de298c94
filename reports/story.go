package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// beat is one thing worth telling, as a sentence without a capital and a stop.
type beat struct {
	At   time.Duration
	Text string
	// Weight decides what is left out of a long story: the smallest first.
	Weight int
}

// Weights of beats.
const (
	aside   = 1 // the setting
	part    = 2 // part of the chain of causes
	turning = 3 // without it there is no story
)

// longestStory is how many beats a paragraph has at most.
const longestStory = 12

// story tells in plain words how the finding came about: who acquired, what
// struck whom, what became of the key, who got in, what was harmed, and which
// assumption that broke.
func story(t campaign.Trial, e history.Evidence, f focus) string {
	beats := slices.Concat(
		holdBeats(e, f), faultBeats(e, f), keyBeats(e, f), overwriteBeats(e, f), harmBeats(f, f.involved()),
	)
	slices.SortStableFunc(beats, func(a, b beat) int { return cmp.Compare(a.At, b.At) })
	var text []string
	for _, b := range shorten(beats) {
		text = append(text, sentence(b.Text))
	}
	return strings.Join(append(text, moral(string(f.Finding.Cause))...), " ")
}

// shorten leaves the least weighty beats out.
func shorten(beats []beat) []beat {
	for least := aside; len(beats) > longestStory && least < turning; least++ {
		excess := len(beats) - longestStory
		beats = slices.DeleteFunc(beats, func(b beat) bool {
			if b.Weight == least && excess > 0 {
				excess--
				return true
			}
			return false
		})
	}
	return beats
}

// moral says which assumption a cause breaks and what prevents it.
func moral(cause string) []string {
	c := explain(cause)
	var text []string
	if c.Assumption != "" {
		text = append(text, "This broke the assumption that "+c.Assumption+".")
	}
	if c.Prevention != "" {
		text = append(text, "What would have prevented it: "+c.Prevention+".")
	}
	if len(text) == 0 {
		text = append(text, "The evidence does not tell why.")
	}
	return text
}

// sentence gives a text its capital and its stop. A name with a digit, as of a
// client, a node or a lock, stays as it is.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); !strings.ContainsAny(word, "0123456789") {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// told are the holds that belong to the story: those in the harm, those that
// the finding names, and what each of the cast held last before. Of a blockage
// only what led to it.
func told(e history.Evidence, f focus) []checker.Hold {
	var holds []checker.Hold
	blocked := f.Finding.Oracle == "liveness"
	if !blocked {
		holds = f.involved()
	}
	add := func(h checker.Hold) {
		if !slices.ContainsFunc(holds, func(g checker.Hold) bool { return g.Acquire == h.Acquire }) {
			holds = append(holds, h)
		}
	}
	for _, h := range f.holds {
		if slices.Contains(f.Finding.Ops, h.Acquire) && (!blocked || h.From <= f.Finding.From) {
			add(h)
		}
	}
	for _, h := range f.lastHolds(f.Cast) {
		if !blocked && acquiredAt(e.Ops, h) >= f.Start {
			add(h)
		}
	}
	slices.SortFunc(holds, func(a, b checker.Hold) int { return cmp.Compare(a.From, b.From) })
	return holds
}

func holdBeats(e history.Evidence, f focus) []beat {
	var out []beat
	for i, h := range told(e, f) {
		text := fmt.Sprintf("c%d acquired %s at %s", h.Client, quoted(h.Lock), instant(h.From))
		if h.Mode != "" {
			text = fmt.Sprintf("c%d acquired %s to %s at %s", h.Client, quoted(h.Lock), h.Mode, instant(h.From))
		}
		if i == 0 {
			text += leaseWords(e.Claims)
		}
		out = append(out, beat{At: h.From, Text: text, Weight: turning})
		if (h.ToWhy == checker.ByLost || h.ToWhy == checker.ByDeadline) && h.To <= f.Finding.To {
			out = append(out, beat{At: h.To, Text: fmt.Sprintf("c%d's hold ended at %s (%s)", h.Client, instant(h.To), h.ToWhy), Weight: part})
		}
	}
	return out
}

// leaseWords says what lease was asked for and what life the key got.
func leaseWords(c history.Claims) string {
	switch {
	case c.KeyTTL == 0:
		return fmt.Sprintf(" (asked for %s, but the recipe sets no expiry)", length(c.TTL))
	case c.KeyTTL != c.TTL:
		return fmt.Sprintf(" with a lease of %s (the key lives %s)", length(c.TTL), length(c.KeyTTL))
	}
	return fmt.Sprintf(" with a lease of %s", length(c.TTL))
}

func quoted(lock string) string {
	if lock == "" {
		return "the lock"
	}
	return `"` + lock + `"`
}

// faultBeats tells what the nemesis did up to the end of the harm.
func faultBeats(e history.Evidence, f focus) []beat {
	var out []beat
	for _, w := range f.wins {
		if w.Hits == 0 || !w.matters(f.Cast) || w.over(f.Start) || w.From > f.Finding.To {
			continue
		}
		text := "the fault " + w.Fault
		if w.Target != "" {
			text += " struck " + w.Target
		}
		if w.To-w.From < 2*time.Millisecond {
			text += " at " + instant(w.From)
		} else {
			text += fmt.Sprintf(" from %s to %s", instant(w.From), instant(w.To))
		}
		if w.Evidence != "" {
			text += " (" + w.Evidence + ")"
		}
		out = append(out, beat{At: w.From, Text: text, Weight: part})
	}
	for _, s := range splitsOf(e.Ops) {
		if s.from <= f.Finding.To && (s.to == 0 || s.to >= f.Start) {
			text := fmt.Sprintf("%s %s moved to %s at %s, a second primary beside the old one", list(s.clients), was(s.clients), s.node, instant(s.from))
			out = append(out, beat{At: s.from, Text: text, Weight: part})
		}
	}
	for _, op := range e.Ops {
		if op.Process != history.Nemesis || op.Time > f.Finding.To || op.Window != nil || covered(op, f.wins) {
			continue
		}
		if text := eventWords(op); text != "" {
			out = append(out, beat{At: op.Time, Text: text, Weight: part})
		}
	}
	return out
}

// covered says whether something else tells an event already: a window that hit
// a client or evicted keys, or the one sentence about a split.
func covered(op history.Op, wins []faultWindow) bool {
	struck := op.Node
	switch {
	case op.F == history.FSplit:
		return true
	case op.Client >= 0:
		struck = fmt.Sprintf("c%d", op.Client)
	case op.F != history.FEvict:
		return false
	}
	return slices.ContainsFunc(wins, func(w faultWindow) bool {
		return w.Hits > 0 && w.Evidence != "" && w.From <= op.Time && op.Time <= w.To && w.aims(struck)
	})
}

// eventWords tells an event of the nemesis, "" for one that tells nothing here.
func eventWords(op history.Op) string {
	at := " at " + instant(op.Time)
	switch op.F {
	case history.FCrash:
		return fmt.Sprintf("c%d crashed", op.Client) + at
	case history.FClock:
		return fmt.Sprintf("c%d's wall clock was %s from %s on", op.Client, offsetWords(op.Offset), instant(op.Time))
	case history.FNodeClock:
		return fmt.Sprintf("%s's wall clock was %s from %s on", op.Node, offsetWords(op.Offset), instant(op.Time))
	case history.FNodeDown:
		return op.Node + " was killed" + at
	case history.FNodeUp:
		text := op.Node + " came back" + at
		if op.Error != "" {
			text += " (" + op.Error + ")"
		}
		return text
	case history.FPromote:
		return op.Node + " was made the primary" + at
	case history.FSplit:
		return fmt.Sprintf("c%d was moved to %s%s, a second primary beside the old one", op.Client, op.Node, at)
	case history.FEvict:
		if len(op.Keys) == 0 {
			return op.Node + " evicted nothing" + at
		}
		return fmt.Sprintf("%s evicted %s%s", op.Node, keyNames(op.Keys), at)
	case history.FDeadlock, history.FPanic, history.FRunaway:
		return fmt.Sprintf("the trial ended%s in a %s (%s)", at, op.F, firstLine(op.Error))
	}
	return ""
}

func was(names []string) string {
	if len(names) == 1 {
		return "was"
	}
	return "were"
}

func keyNames(keys []history.KeyState) string {
	var names []string
	for _, k := range keys {
		names = append(names, printable(k.Key))
	}
	return list(names)
}

func offsetWords(d time.Duration) string {
	switch {
	case d > 0:
		return length(d) + " ahead"
	case d < 0:
		return length(-d) + " behind"
	}
	return "right again"
}

// overwriteBeats tells the first lost update among the clients concerned: a
// write by one that had read before the other's write.
func overwriteBeats(e history.Evidence, f focus) []beat {
	if f.Finding.Oracle == "resource" || f.Finding.Oracle == "liveness" {
		return nil
	}
	var touches []history.Op
	for _, op := range e.Ops {
		if op.Type == history.OK && op.Seq > 0 && op.Lock == f.Finding.Lock {
			touches = append(touches, op)
		}
	}
	slices.SortFunc(touches, func(a, b history.Op) int { return cmp.Compare(a.Seq, b.Seq) })
	read := map[int]int{}
	for i, op := range touches {
		if op.F == history.FRead {
			read[op.Client] = i + 1
			continue
		}
		from := read[op.Client]
		if from == 0 || op.Time < f.Start || op.Time > f.To || !slices.Contains(f.Finding.Clients, op.Client) {
			continue
		}
		for _, other := range touches[from:i] {
			if other.F == history.FWrite && other.Client != op.Client {
				return []beat{{At: op.Time, Weight: turning, Text: fmt.Sprintf(
					"at %s c%d wrote over what c%d had written at %s, which it had never read: a lost update",
					instant(op.Time), op.Client, other.Client, instant(other.Time))}}
			}
		}
	}
	return nil
}

// harmBeats tells the violation itself.
func harmBeats(f focus, holds []checker.Hold) []beat {
	x := f.Finding
	b := beat{At: x.From, Weight: turning, Text: rounded(x.Summary)}
	switch {
	case x.Oracle == "exclusion" && len(x.Clients) == 2 && x.To > x.From:
		b.Text = fmt.Sprintf("from %s to %s both c%d and c%d believed that they held it%s",
			instant(x.From), instant(x.To), x.Clients[1], x.Clients[0], modeWords(holds))
	case x.Oracle == "liveness":
		b.At = x.To
	}
	if b.Text == "" {
		b.Text = fmt.Sprintf("%s was violated at %s", x.Oracle, instant(x.From))
	}
	return []beat{b}
}

// modeWords says who of them held a read-write lock how.
func modeWords(holds []checker.Hold) string {
	var all []string
	for _, h := range holds {
		if text := fmt.Sprintf("c%d to %s", h.Client, h.Mode); h.Mode != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ", " + list(all)
}

// declared finds what the recipe itself says about the finding.
func (g glossary) declared(t campaign.Trial, f found) (locks.Flaw, bool) {
	r, ok := g.recipe(t.Spec.Lock)
	if !ok {
		return locks.Flaw{}, false
	}
	var first *locks.Flaw
	for i, flaw := range r.Flaws {
		if flaw.Oracle != f.Oracle || flaw.Cause != string(f.Cause) {
			continue
		}
		if slices.Contains(flaw.Faults, t.Spec.Fault) {
			return flaw, true
		}
		if first == nil {
			first = &r.Flaws[i]
		}
	}
	if first == nil {
		return locks.Flaw{}, false
	}
	return *first, true
}
