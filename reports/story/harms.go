package story

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
)

// harms maps each kind of harm to the function that tells it. The function gets a step with
// the finding's summary, and may improve it; it returns false if another step tells the harm.
var harms = map[checker.Harm]func(t *teller, s *Step) bool{
	checker.HarmOverlap:  (*teller).overlapHarm,
	checker.HarmWork:     (*teller).resourceHarm,
	checker.HarmReentry:  (*teller).plainHarm,
	checker.HarmGrant:    (*teller).ownershipHarm,
	checker.HarmFence:    (*teller).fencingHarm,
	checker.HarmAnswer:   (*teller).answerHarm,
	checker.HarmBlockage: func(*teller, *Step) bool { return false },
}

// kind returns the kind of the finding's harm.
func (f Finding) kind() checker.Harm { return f.oracle.HarmOf(f.Cause) }

// Blocks reports whether the harm is that no client could acquire the lock.
func (f Finding) Blocks() bool { return f.kind() == checker.HarmBlockage }

// OfProgram says whether the clients' program is to blame instead of the lock.
func (f Finding) OfProgram() bool { return f.oracle.OfProgram }

// Overlaps reports whether the harm is that several clients held the lock at once.
func (f Finding) Overlaps() bool { return f.kind() == checker.HarmOverlap }

// Breaks reports whether the harm is that the code under test ended the trial.
func (f Finding) Breaks() bool { return f.kind() == checker.HarmEnd }

// Denies reports whether the harm is that an operation denied what its own commands had done.
func (f Finding) Denies() bool { return f.kind() == checker.HarmAnswer }

// harm returns the step of the violation itself, unless another step tells it.
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

// done has the past of each operation that a lock carries out.
var done = map[string]string{
	history.FAcquire: "asked for", history.FRelease: "released", history.FExtend: "extended",
}

// brokeIn returns the step of the operation in which the code under test ended the trial,
// and how often the client had called it before; none if it is not known.
func (t *teller) brokeIn() []Step {
	x := t.Finding
	if !x.Breaks() || len(x.Clients) != 1 {
		return nil
	}
	before := map[[2]string]int{} // calls that ended, by function and lock
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
			return []Step{{At: in.Time, Text: text, Weight: turning}}
		}
	}
	return nil
}

// overlapHarm returns false if the step of the intruder's grant tells the overlap.
func (t *teller) overlapHarm(s *Step) bool {
	x := t.Finding
	if slices.ContainsFunc(t.told, t.intruder) {
		return false
	}
	if len(x.Clients) == 2 && x.To > x.From {
		s.Text = fmt.Sprintf("until %s both c%d and c%d believed that they held it", prose.Instant(x.To), x.Clients[1], x.Clients[0])
	}
	return true
}

// resourceHarm returns false if a step of touches tells a lost update.
func (t *teller) resourceHarm(s *Step) bool {
	if _, ok := t.lostUpdate(); ok {
		return false
	}
	return t.fencingHarm(s)
}

// fencingHarm sets the step's time to the end of the finding; earlier steps tell the cause.
func (t *teller) fencingHarm(s *Step) bool {
	s.At = max(t.Finding.From, t.Finding.To)
	return t.plainHarm(s)
}

// answerHarm sets the step's time to that of the answer, and keeps the reasons.
func (t *teller) answerHarm(s *Step) bool {
	s.At = max(t.Finding.From, t.Finding.To)
	return true
}

// ownershipHarm returns false if a step of keySteps tells the change of another's key.
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
