package story

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// harms maps each kind of harm to the function that describes it. The function gets a step with
// the finding's summary and may change the step. It returns false if another step already
// describes the harm. Without a function, the step stays as it is.
var harms = map[checker.Harm]func(t *teller, s *Step) bool{
	checker.HarmOverlap:  (*teller).overlapHarm,
	checker.HarmWork:     (*teller).resourceHarm,
	checker.HarmReentry:  (*teller).plainHarm,
	checker.HarmGrant:    (*teller).ownershipHarm,
	checker.HarmFence:    (*teller).fencingHarm,
	checker.HarmAnswer:   (*teller).answerHarm,
	checker.HarmBlockage: func(*teller, *Step) bool { return false },
}

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

// harm returns the step of the violation itself, unless another step describes it.
func (t *teller) harm() []Step {
	x := t.Finding
	s := Step{At: x.From, Weight: turning, Text: Words.Summary(x.Finding)}
	if tell := harms[x.kind()]; tell != nil && !tell(t, &s) {
		return nil
	}
	if s.Text == "" {
		s.Text = x.Oracle + " was violated"
	}
	return []Step{s}
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

// overlapHarm returns false if the step of the second holder's grant describes the overlap.
func (t *teller) overlapHarm(s *Step) bool {
	x := t.Finding
	if slices.ContainsFunc(t.storyHolds, t.intruder) {
		return false
	}
	if len(x.Clients) == 2 && x.To > x.From {
		s.Text = fmt.Sprintf("until %s both c%d and c%d believed that they held it", wording.Instant(x.To), x.Clients[1], x.Clients[0])
	}
	return true
}

// resourceHarm returns false if a step of touches describes a lost update.
func (t *teller) resourceHarm(s *Step) bool {
	if _, ok := t.lostUpdate(); ok {
		return false
	}
	return t.fencingHarm(s)
}

// fencingHarm moves the step to the end of the finding; earlier steps describe the cause.
func (t *teller) fencingHarm(s *Step) bool {
	s.At = max(t.Finding.From, t.Finding.To)
	return t.plainHarm(s)
}

// answerHarm moves the step to the time of the answer. Its text keeps the finding's reasons.
func (t *teller) answerHarm(s *Step) bool {
	s.At = max(t.Finding.From, t.Finding.To)
	return true
}

// ownershipHarm returns false if a step of keySteps describes how another client's key was
// changed.
func (t *teller) ownershipHarm(s *Step) bool {
	x := t.Finding
	if slices.ContainsFunc(t.Events, func(v facts.Event) bool {
		return v.Foreign() && t.concerns(v) && (slices.Contains(x.Commands, v.Command) || (v.At-x.From).Abs() < 5*time.Millisecond)
	}) {
		return false
	}
	return t.plainHarm(s)
}

// plainHarm sets the step's text to what happened, without the cause.
func (t *teller) plainHarm(s *Step) bool {
	s.Text = Words.What(t.Finding.Finding)
	return true
}
