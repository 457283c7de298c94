package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// telling is how a finding came about, for somebody who runs a service and was
// not there: the numbered steps, the assumption that broke, and what would have
// prevented it. It is made of the evidence and of nothing that a recipe says of
// itself.
type telling struct {
	Steps     []step
	Broken    string
	Prevented []string
	// Note stands in for the story where there is none to tell, and says why.
	Note string
}

// empty says that there is no story.
func (t telling) empty() bool { return len(t.Steps) == 0 && t.Broken == "" && len(t.Prevented) == 0 }

// step is one thing worth telling, as a sentence without a capital and a stop.
type step struct {
	At   time.Duration
	Text string
	// Weight decides what is left out of a long story: the smallest first.
	Weight int
	// Group says that it happened to a server: what happened to several within a
	// moment is one step.
	Group bool
}

// Weights of steps.
const (
	aside   = 1 // the setting
	part    = 2 // part of the chain of causes
	struck  = 3 // what the nemesis did: the beginning of that chain
	turning = 4 // without it there is no story
)

// longestStory is how many steps a story has at most, but for turning points.
const longestStory = 9

// tellStory tells the finding: who acquired with which life and token, what
// struck whom, what became of the key, who got in, what was overwritten.
func tellStory(e history.Evidence, f focus) telling {
	t := newTeller(e, f)
	steps := slices.Concat(
		t.looks(), t.strikes(), t.answers(), t.keySteps(), t.holds(), t.waits(), t.harm(), t.touches(),
	)
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.At, b.At) })
	return telling{Steps: shorten(joined(steps)), Broken: broken(f), Prevented: t.prevented()}
}

// teller holds what several parts of a story need.
type teller struct {
	history.Evidence
	focus
	told   []checker.Hold // the holds that belong to the story
	tokens tokens
}

func newTeller(e history.Evidence, f focus) *teller {
	t := &teller{Evidence: e, focus: f, tokens: readTokens(e, f.pairs)}
	t.told = t.holdsToTell()
	if f.Finding.Oracle == "liveness" {
		t.Start = t.blockedFrom()
	}
	return t
}

// joined makes one step of what happened to servers within a moment.
func joined(steps []step) []step {
	var out []step
	for _, s := range steps {
		if n := len(out); n > 0 && s.Group && out[n-1].Group && s.At-out[n-1].At < 5*time.Millisecond {
			out[n-1].Text += ", and " + s.Text
			out[n-1].Weight = max(out[n-1].Weight, s.Weight)
			continue
		}
		out = append(out, s)
	}
	return out
}

// shorten leaves the least weighty steps out.
func shorten(steps []step) []step {
	for least := aside; len(steps) > longestStory && least < turning; least++ {
		excess := len(steps) - longestStory
		steps = slices.DeleteFunc(steps, func(s step) bool {
			if s.Weight == least && excess > 0 {
				excess--
				return true
			}
			return false
		})
	}
	return steps
}

// broken says which assumption of leases did not hold in the trial.
func broken(f focus) string {
	x := f.Finding
	switch said := words.Broken(x.Finding); {
	case said != "":
		return sentence(said)
	case x.Cause == checker.Unclassified || x.Cause == "":
		return "The evidence does not tell."
	case x.Kind == locks.Limit:
		return sentence("that " + explain(string(x.Cause)).Assumption)
	case slices.ContainsFunc(f.wins, func(w faultWindow) bool { return w.Hits > 0 && w.From <= max(x.From, x.To) }):
		return "None: a lock has to withstand what happened here. Its own steps did the harm."
	}
	return "None: nothing failed. The lock's own steps did it."
}

// sentence gives a text its capital and its stop. A name with a digit, as of a
// client, a node or a lock, stays as it is, and so does code.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); !strings.ContainsAny(word, "0123456789`") {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// holdsToTell are those in the harm, those that the finding and its commands
// name, and what each of the cast held last before. Of a blockage only what led
// to it and who got in at its end.
func (t *teller) holdsToTell() []checker.Hold {
	var holds []checker.Hold
	x := t.Finding
	blocked := x.Oracle == "liveness"
	if !blocked {
		holds = t.involved()
	}
	add := func(h checker.Hold) {
		if !slices.ContainsFunc(holds, func(g checker.Hold) bool { return g.Acquire == h.Acquire }) {
			holds = append(holds, h)
		}
	}
	for _, h := range t.focus.holds {
		if slices.Contains(x.Ops, h.Acquire) && (!blocked || h.From <= x.From) {
			add(h)
		}
	}
	for _, h := range t.lastHolds(t.Cast) {
		if h.To >= x.From && !blocked || blocked && t.lasting(h.Client) {
			add(h)
		}
	}
	for _, h := range t.sendersHolds(t.Evidence, t.Start) {
		add(h)
	}
	if x.Oracle == "fencing" {
		for _, i := range x.Ops {
			// Nobody sees a hold that was over at once, but its fence counts.
			if op := opOf(t.Ops, i); op.F == history.FAcquire && op.Type == history.OK {
				add(checker.Hold{Lock: op.Lock, Mode: op.Mode, Client: op.Client, From: op.Time, To: op.Time, ToWhy: checker.ByRelease, Acquire: op.Index})
			}
		}
	}
	if blocked && !x.Forever {
		for _, h := range t.focus.holds {
			if h.From >= x.To-time.Millisecond && h.Lock == x.Lock {
				add(h)
				break
			}
		}
	}
	slices.SortFunc(holds, func(a, b checker.Hold) int { return cmp.Compare(a.From, b.From) })
	return holds
}

// blockedFrom is where the story of a blockage begins: when what kept others out
// was sent or acquired.
func (t *teller) blockedFrom() time.Duration {
	start := t.Finding.From
	for _, s := range t.spans {
		if !slices.Contains(t.Cast, s.Owner) || !s.lasts(t.Finding) || !slices.Contains(t.keys, keyName{s.Node, s.Key}) {
			continue
		}
		start = min(start, s.From)
		if _, c, ok := t.setBy(s); ok {
			start = min(start, c.Sent)
		}
	}
	for _, h := range t.told {
		start = min(start, acquiredAt(t.Ops, h))
	}
	return start
}

// lasting says whether a client's key kept others out for most of the blockage.
func (t *teller) lasting(client int) bool {
	return slices.ContainsFunc(t.spans, func(s keySpan) bool { return s.Owner == client && s.lasts(t.Finding) })
}

// holds tells of each hold how it began, and that it ended early.
func (t *teller) holds() []step {
	var out []step
	x := t.Finding
	first := true
	for _, h := range t.told {
		g := t.grant(h)
		text := fmt.Sprintf("c%d acquired %s", h.Client, quoted(h.Lock))
		named := len(text)
		if h.Mode != "" {
			text += fmt.Sprintf(" to %s", h.Mode)
		}
		if len(g.Nodes) > 0 && (t.apart(t.told) || first && len(g.Nodes) > 1) {
			text += " on " + list(g.Nodes)
		}
		if first {
			text += t.leaseWords(h)
			first = false
		}
		text += t.tokens.words(g)
		besides := ""
		if other, last := t.lastOfTwo(h); last {
			besides = t.besides(other, strings.ContainsAny(text[named:], ";:"))
		}
		at := cmp.Or(g.At, h.From)
		if h.From-at > lateness {
			out = append(out, step{At: at, Text: strings.Replace(text, " acquired ", " was granted ", 1), Weight: turning})
			at, text = h.From, fmt.Sprintf("c%d went on, and believed that it held the lock", h.Client)
		}
		out = append(out, step{At: at, Text: text + besides, Weight: turning})
		if h.ToWhy == checker.ByLost && h.To <= x.To {
			out = append(out, step{At: h.To, Text: fmt.Sprintf("c%d learnt that its lease had ended", h.Client), Weight: part})
		}
		if h.ToWhy == checker.ByDeadline && h.To <= x.To {
			out = append(out, step{At: h.To, Text: fmt.Sprintf("the time for which c%d had claimed the lock was over", h.Client), Weight: part})
		}
	}
	return out
}

// apart says whether these holds were granted by different nodes.
func (t *teller) apart(holds []checker.Hold) bool {
	var nodes []string
	for _, h := range holds {
		if g := t.grant(h); len(g.Nodes) > 0 {
			nodes = append(nodes, list(g.Nodes))
		}
	}
	slices.Sort(nodes)
	return len(slices.Compact(nodes)) > 1
}

// intruder says whether a hold began the harm of two holders.
func (t *teller) intruder(h checker.Hold) bool {
	x := t.Finding
	return x.Oracle == "exclusion" && len(x.Clients) == 2 && h.From == x.From && h.Client == x.Clients[0] && x.To > x.From
}

// lastOfTwo says whether the hold made two holders, and beside whom: of the two, as the
// story tells them, it was granted last, whoever of them heard of it first.
func (t *teller) lastOfTwo(h checker.Hold) (other int, last bool) {
	x := t.Finding
	i := slices.IndexFunc(t.told, t.intruder)
	if i < 0 {
		return 0, false
	}
	granted := func(h checker.Hold) time.Duration { return cmp.Or(t.grant(h).At, h.From) }
	late := t.told[i]
	for _, o := range t.told {
		if o.Client == x.Clients[1] && o.From <= x.From && x.From < o.To && granted(o) > granted(late) {
			late = o
		}
	}
	if late.Client == x.Clients[1] {
		return x.Clients[0], h.Acquire == late.Acquire
	}
	return x.Clients[1], h.Acquire == late.Acquire
}

// besides tells that the other believed that he held the lock, too; apart in a sentence
// of its own.
func (t *teller) besides(other int, apart bool) string {
	while, held, mode := " while", "still believed that it held it", history.Mode("")
	if apart {
		while = "."
	}
	for _, g := range t.involved() {
		if g.Client == other {
			mode = g.Mode
		}
	}
	if mode != "" {
		held = fmt.Sprintf("held it to %s", mode)
	}
	return fmt.Sprintf("%s c%d %s: both did until %s", while, other, held, instant(t.Finding.To))
}

// leaseWords say what life the key of a hold got, as far as that was seen.
func (t *teller) leaseWords(h checker.Hold) string {
	ttl := t.Claims.TTL
	text := fmt.Sprintf(" with a TTL of %s", length(ttl))
	switch life, seen := t.lifeOf(h); {
	case !seen:
	case life == 0:
		text = ", without a TTL: its key never expires by itself"
	case (life - ttl).Abs() > ttl/50: // on real time, lives are not known to the millisecond
		text = fmt.Sprintf(" for %s; its key has a TTL of %s", length(ttl), length(life))
	}
	if op, ok := opAt(t.Ops, h.Acquire); ok && op.Lease != nil && op.Lease.Deadline > 0 {
		text += fmt.Sprintf("; it claims the lock until its own clock shows %s", instant(op.Lease.Deadline))
	}
	return text
}

// lifeOf is the life of what the acquire of a hold put on keys; 0 = it has no end.
func (t *teller) lifeOf(h checker.Hold) (life time.Duration, seen bool) {
	for _, p := range t.pairs {
		if p.Complete != nil && p.Complete.Index == h.Acquire {
			return t.became.LifeOf(p.Invoke.Index)
		}
	}
	return 0, false
}

func quoted(lock string) string {
	if lock == "" {
		return "the lock"
	}
	return `"` + lock + `"`
}

// declared finds what the recipe itself says about the finding under the trial's
// fault: of a mix of faults, what it says about any.
func (g glossary) declared(t trial.Result, f found) (locks.Flaw, bool) {
	r, ok := g.recipe(t.Spec.Lock)
	if !ok {
		return locks.Flaw{}, false
	}
	about := func(flaw locks.Flaw) bool { return flaw.Oracle == f.Oracle && flaw.Cause == string(f.Cause) }
	at := slices.IndexFunc(r.Flaws, func(flaw locks.Flaw) bool {
		return about(flaw) && (slices.Contains(flaw.Faults, t.Spec.Fault) || slices.Contains(flaw.Also, t.Spec.Fault))
	})
	if at < 0 && g.fault(t.Spec.Fault).Mix {
		at = slices.IndexFunc(r.Flaws, about)
	}
	if at < 0 {
		return locks.Flaw{}, false
	}
	return r.Flaws[at], true
}
