package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// Story explains a finding to an engineer who runs a service and did not see the trial: the
// numbered steps, the assumption that broke, and what would have prevented the harm. It rests only
// on the evidence, not on the recipe's own description.
type Story struct {
	Steps     []Step
	Broken    string
	Prevented []string
	// Tried says that remedies were tried on the trial: Prevented tells what they did. Otherwise it has what usually
	// helps against the cause.
	Tried bool
	// Note says why there is no story; "" if there is one.
	Note string
}

// Empty reports whether there is no story.
func (t Story) Empty() bool { return len(t.Steps) == 0 && t.Broken == "" && len(t.Prevented) == 0 }

// Step is one event of a story. Text is a sentence without a capital and a full stop.
type Step struct {
	At   time.Duration
	On   string // the client or the node at which it happened, such as "c0"; "" if at none or several
	Text string
	// Weight decides what is omitted: a long story drops its lightest steps first.
	Weight int
	// Group: the step concerns a server. Such steps less than 5 ms apart become one.
	Group bool
}

// Weights of steps.
const (
	aside   = 1 // background
	part    = 2 // part of the chain of causes
	struck  = 3 // an action of the nemesis: the beginning of the chain of causes
	turning = 4 // a turning point, which no story can omit
)

// MaxSteps is the maximum number of a story's steps; only turning points may exceed it.
const MaxSteps = 9

// Tell returns the story of the finding: which client acquired the lock, with which TTL and token;
// which faults struck; what happened to the key; which client acquired next; and what was
// overwritten.
func Tell(f Focus) Story {
	t := newTeller(f)
	steps := slices.Concat(
		t.earlierCommandSteps(), t.faultSteps(), t.answers(), t.missedRenewals(), t.keySteps(), t.looks(), t.reasons(), t.holds(), t.waits(), t.brokeIn(), t.denied(), t.harm(), t.touches(),
	)
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	s := Story{Steps: shorten(joined(steps)), Broken: broken(f)}
	s.Prevented, s.Tried = t.prevented(), t.Remedied != nil
	return s
}

// teller holds the data that several parts of a story share: every maker of steps and remedies, each in the file of its
// subject, reads all of it.
type teller struct {
	Focus
	storyHolds []checker.Hold // the holds that belong to the story
	tokens     tokens
}

func newTeller(f Focus) *teller {
	t := &teller{Focus: f, tokens: readTokens(f.Evidence, f.Pairs)}
	t.storyHolds = t.holdsInStory()
	if f.Finding.Blocks() {
		t.Start = t.blockedFrom()
	}
	if t.leftFree() {
		t.Start = t.lastStrike(t.Start)
	}
	return t
}

// leftFree reports whether clients waited although the lock was free.
func (t *teller) leftFree() bool { return t.Finding.Account.What == account.LeftFree }

// lastStrike returns the beginning of a fault: of those that hit something and began no later than at,
// the last one. Without such a fault, it returns at.
func (t *teller) lastStrike(at time.Duration) time.Duration {
	for _, w := range slices.Backward(t.Windows) {
		if w.Hits > 0 && w.From <= at {
			return w.From
		}
	}
	return at
}

// joined merges successive steps about servers that are less than 5 ms apart.
func joined(steps []Step) []Step {
	var out []Step
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

// shorten drops the lightest steps until MaxSteps are left. It never drops turning points.
func shorten(steps []Step) []Step {
	for least := aside; len(steps) > MaxSteps && least < turning; least++ {
		excess := len(steps) - MaxSteps
		steps = slices.DeleteFunc(steps, func(s Step) bool {
			if s.Weight == least && excess > 0 {
				excess--
				return true
			}
			return false
		})
	}
	return steps
}

// broken names the assumption that broke in the trial.
func broken(f Focus) string {
	x := f.Finding
	switch said := Words.Broken(x.Finding); {
	case said != "":
		return wording.Sentence(said)
	case x.Cause == checker.Unclassified || x.Cause == "":
		return "The evidence does not tell."
	case x.OfProgram():
		return "None of the lock's. The program's own assumption broke: that " + x.Cause.Assumption() + "."
	case x.Kind == locks.Limit:
		return wording.Sentence("that " + x.Cause.Assumption())
	case slices.ContainsFunc(f.Windows, func(w facts.Window) bool { return w.Hits > 0 && w.From <= max(x.From, x.To) }):
		return "None: a lock has to withstand what happened here. Its own steps did the harm."
	}
	return "None: nothing failed. The lock's own steps did it."
}

// holdsInStory returns these holds, in order of time:
//   - the holds in the harm (Involved), except for a blockage;
//   - the holds whose acquires the finding names; for a blockage, only those that began before it;
//   - the last hold of each of the story's clients, if that hold lasted until the finding, or if the
//     finding is a breakdown; for a blockage, only of the clients whose keys block (blocksSince);
//   - the holds of sendersHolds, and those whose keys were another's commands struck;
//   - for a blockage that ended, the hold that ended it.
func (t *teller) holdsInStory() []checker.Hold {
	var holds []checker.Hold
	x := t.Finding
	blocked := x.Blocks()
	if !blocked {
		holds = t.Involved()
	}
	add := func(h checker.Hold) {
		if !slices.ContainsFunc(holds, func(g checker.Hold) bool { return g.Acquire == h.Acquire }) {
			holds = append(holds, h)
		}
	}
	for _, h := range t.Focus.Holds {
		if slices.Contains(x.Ops, h.Acquire) && (!blocked || h.From <= x.From) {
			add(h)
		}
	}
	for _, h := range t.lastHolds(t.Cast) {
		if (h.To >= x.From || x.Breaks()) && !blocked || blocked && t.blocksSince(h) {
			add(h)
		}
	}
	for _, h := range t.sendersHolds(t.Start) {
		add(h)
	}
	for _, v := range t.Events {
		if v.Foreign() && t.concerns(v) {
			for _, h := range t.Focus.Holds {
				if h.Client == v.Owner && h.From <= v.At && v.At < h.To && (x.Lock == "" || h.Lock == x.Lock) {
					add(h)
				}
			}
		}
	}
	if blocked && !x.Forever {
		for _, h := range t.Focus.Holds {
			if h.From >= x.To-time.Millisecond && h.Lock == x.Lock {
				add(h)
				break
			}
		}
	}
	slices.SortFunc(holds, func(a, b checker.Hold) int { return cmp.Compare(a.From, b.From) })
	return holds
}

// blockedFrom returns when the story of a blockage begins: when the command that set the blocking
// key was sent, when the first acquire of the story's holds began, or when the finding begins,
// whichever is the earliest.
func (t *teller) blockedFrom() time.Duration {
	start := t.Finding.From
	for _, s := range t.Spans {
		if !slices.Contains(t.Cast, s.Owner) || !lasts(s, t.Finding) || !slices.Contains(t.LockKeys, s.NodeKey) {
			continue
		}
		start = min(start, s.From)
		if _, c, ok := t.setBy(s); ok {
			start = min(start, c.Sent)
		}
	}
	for _, h := range t.storyHolds {
		start = min(start, t.acquiredAt(h))
	}
	return start
}

// lasting reports whether a key of the client kept other clients out for most of the blockage.
func (t *teller) lasting(client int) bool {
	return slices.ContainsFunc(t.Spans, func(s facts.Span) bool { return s.Owner == client && lasts(s, t.Finding) })
}

// blocksSince reports whether a key of the hold's client kept others out for most of the blockage. An empty hold has
// to have set that key itself: its client may have got the lock again since.
func (t *teller) blocksSince(h checker.Hold) bool {
	return slices.ContainsFunc(t.Spans, func(s facts.Span) bool {
		return s.Owner == h.Client && lasts(s, t.Finding) && (h.To > h.From || t.sets(h, s))
	})
}

// holds returns steps for the beginnings of holds, and for their ends if a lost lease or a deadline
// ended them before the harm was over.
func (t *teller) holds() []Step {
	var out []Step
	x := t.Finding
	first := true
	for _, h := range t.storyHolds {
		g := t.grant(h)
		on := history.ClientName(h.Client)
		text := fmt.Sprintf("%s acquired %s", on, quoted(h.Lock))
		named := len(text)
		if h.Mode != "" {
			text += fmt.Sprintf(" to %s", h.Mode)
		}
		if len(g.Nodes) > 0 && (t.apart(t.storyHolds) || first && len(g.Nodes) > 1) {
			text += " on " + wording.List(g.Nodes)
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
		at := t.grantedAt(h)
		if h.From-at > Lateness {
			out = append(out, Step{At: at, On: on, Text: strings.Replace(text, " acquired ", " was granted ", 1), Weight: turning})
			at, text = h.From, on+" went on, and believed that it held the lock"
		}
		out = append(out, Step{At: at, On: on, Text: text + besides, Weight: turning})
		if h.ToWhy == account.ByLost && h.To <= x.To {
			out = append(out, Step{At: h.To, On: on, Text: on + " learnt that its lease had ended", Weight: part})
		}
		if h.ToWhy == account.ByDeadline && h.To <= x.To {
			out = append(out, Step{At: h.To, On: on, Text: "the time for which " + on + " had claimed the lock was over", Weight: part})
		}
	}
	return out
}

// apart reports whether the holds were granted by different sets of nodes.
func (t *teller) apart(holds []checker.Hold) bool {
	var nodes []string
	for _, h := range holds {
		if g := t.grant(h); len(g.Nodes) > 0 {
			nodes = append(nodes, wording.List(g.Nodes))
		}
	}
	slices.Sort(nodes)
	return len(slices.Compact(nodes)) > 1
}

// intruder reports whether h is the later of two overlapping holds: the overlap begins when h begins.
func (t *teller) intruder(h checker.Hold) bool {
	x := t.Finding
	return x.Overlaps() && len(x.Clients) == 2 && h.From == x.From && h.Client == x.Clients[0] && x.To > x.From
}

// lastOfTwo reports whether h was granted after the hold that overlaps it, and returns the client of that
// other hold. A hold that was granted later may begin earlier, because its reply may arrive first.
func (t *teller) lastOfTwo(h checker.Hold) (other int, last bool) {
	x := t.Finding
	i := slices.IndexFunc(t.storyHolds, t.intruder)
	if i < 0 {
		return 0, false
	}
	late := t.storyHolds[i]
	for _, o := range t.storyHolds {
		if o.Client == x.Clients[1] && o.From <= x.From && x.From < o.To && t.grantedAt(o) > t.grantedAt(late) {
			late = o
		}
	}
	if late.Client == x.Clients[1] {
		return x.Clients[0], h.Acquire == late.Acquire
	}
	return x.Clients[1], h.Acquire == late.Acquire
}

// besides says that the other client still believed that it held the lock. If apart is set, the
// text is a separate sentence.
func (t *teller) besides(other int, apart bool) string {
	while, held, mode := " while", "still believed that it held it", history.Mode("")
	if apart {
		while = "."
	}
	for _, g := range t.Involved() {
		if g.Client == other {
			mode = g.Mode
		}
	}
	if mode != "" {
		held = fmt.Sprintf("held it to %s", mode)
	}
	return fmt.Sprintf("%s c%d %s: both did until %s", while, other, held, t.overlapEnd())
}

// overlapEnd says how the overlap in the finding ended: with the end of a hold or of the trial.
func (t *teller) overlapEnd() string {
	to := t.Finding.To
	if last := len(t.Ops) - 1; last >= 0 && to >= t.Ops[last].Time && !slices.ContainsFunc(t.Involved(), func(h checker.Hold) bool { return h.To == to && h.ToWhy != account.ByNothing }) {
		return "the trial ended"
	}
	return wording.Instant(to)
}

// leaseWords describes a hold's lease: the TTL that the lock claims, the TTL observed on the key if
// it differs, and the holder's own deadline if it has one.
func (t *teller) leaseWords(h checker.Hold) string {
	ttl := t.Claims.TTL
	text := fmt.Sprintf(" with a TTL of %s", wording.Length(ttl))
	switch life, seen := t.lifeOf(h); {
	case !seen:
	case life == 0:
		text = ", without a TTL: its key never expires by itself"
	case (life - ttl).Abs() > ttl/50: // on real servers, a TTL is not known to the millisecond
		text = fmt.Sprintf(" for %s; its key has a TTL of %s", wording.Length(ttl), wording.Length(life))
	}
	if op, ok := facts.OpAt(t.Ops, h.Acquire); ok && op.Lease != nil && op.Lease.Deadline > 0 {
		words := "; it claims the lock until its own clock shows %s"
		if op.Lease.Monotonic {
			words = "; it claims the lock until %s, by its monotonic clock"
		}
		text += fmt.Sprintf(words, wording.Instant(op.Lease.Deadline))
	}
	return text
}

// lifeOf returns the TTL that a hold's acquire gave its keys; 0 = the keys never expire. seen is
// false if the evidence does not show the TTL.
func (t *teller) lifeOf(h checker.Hold) (life time.Duration, seen bool) {
	acquire, ok := t.Pair(h.Acquire)
	if !ok {
		return 0, false
	}
	return t.Keyspace.TakenFor(acquire.Invoke.Index)
}
