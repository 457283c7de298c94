package story

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

func (f Finding) kind() checker.Harm { return f.oracle.HarmOf(f.Cause) }

// Blocks reports whether the harm is a blockage: no client could acquire the lock.
func (f Finding) Blocks() bool { return f.kind() == checker.HarmBlockage }

// OfProgram reports whether the clients' program is to blame, not the lock.
func (f Finding) OfProgram() bool { return f.oracle.OfProgram }

// Overlaps reports whether the harm is an overlap: several clients held the lock at once.
func (f Finding) Overlaps() bool { return f.kind() == checker.HarmOverlap }

// Breaks reports whether the harm is a breakdown: the code under test ended the trial.
func (f Finding) Breaks() bool { return f.kind() == checker.HarmEnd }

// Denies reports whether the harm is a false answer: an operation denied the effect of its own
// commands.
func (f Finding) Denies() bool { return f.kind() == checker.HarmAnswer }

// harm returns the step of the violation itself: the finding's summary, or what happened without the cause, where earlier
// steps describe the cause. There is none if another step describes the harm.
func (t *teller) harm() []Step {
	x := t.Finding
	s := Step{At: x.From, Weight: turning, Text: Words.Summary(x.Finding)}
	end := max(x.From, x.To)
	_, lost := t.lostUpdate()
	switch x.kind() {
	case checker.HarmBlockage:
		return nil
	case checker.HarmOverlap:
		if slices.ContainsFunc(t.storyHolds, t.intruder) { // the step of the second holder's grant describes the overlap
			return nil
		}
		if len(x.Clients) == 2 && x.To > x.From {
			s.Text = fmt.Sprintf("until %s both c%d and c%d believed that they held it", wording.Instant(x.To), x.Clients[1], x.Clients[0])
		}
	case checker.HarmWork:
		if lost { // a step of touches describes it
			return nil
		}
		s.At, s.Text = end, Words.What(x.Finding)
	case checker.HarmFence:
		s.At, s.Text = end, Words.What(x.Finding)
	case checker.HarmReentry:
		s.Text = Words.What(x.Finding)
	case checker.HarmAnswer:
		s.At = end
	case checker.HarmGrant:
		if t.tellsForeignChange() {
			return nil
		}
		s.Text = Words.What(x.Finding)
	}
	s.Text = cmp.Or(s.Text, x.Oracle+" was violated")
	return []Step{s}
}

// tellsForeignChange reports whether a step of keySteps describes how another client's key was changed.
func (t *teller) tellsForeignChange() bool {
	return slices.ContainsFunc(t.Events, func(v facts.Event) bool {
		return v.Foreign() && t.concerns(v) && (slices.Contains(t.Finding.Commands, v.Command) || (v.At-t.Finding.From).Abs() < 5*time.Millisecond)
	})
}

// done has the past tense of each operation of a lock.
var done = map[string]string{
	history.FAcquire: "asked for", history.FRelease: "released", history.FExtend: "extended",
}

// brokeIn returns the step of the operation in which the code under test ended the trial. The step
// says how often the client had called the operation before. There is none if the operation is
// unknown.
func (t *teller) brokeIn() []Step {
	x := t.Finding
	if !x.Breaks() || len(x.Clients) != 1 {
		return nil
	}
	before := map[[2]string]int{} // completed calls, by function and lock
	for _, p := range t.Pairs {
		in := p.Invoke
		switch of := [2]string{in.F, in.Lock}; {
		case in.Client != x.Clients[0] || in.Time > x.From || done[in.F] == "":
		case p.Complete != nil && p.Complete.Time < x.From:
			before[of]++
		default:
			text := fmt.Sprintf("c%d began to %s %s", in.Client, in.F, quoted(in.Lock))
			if n := before[of]; n > 0 {
				text += fmt.Sprintf(". It had %s it %s before", done[in.F], many(n, "time"))
			}
			return []Step{{At: in.Time, On: placeOf(*in), Text: text, Weight: turning}}
		}
	}
	return nil
}
