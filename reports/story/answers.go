package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
)

// answers returns a step for each acquire and release of the story's clients whose outcome the
// client does not know. If clients waited although the lock was free, it returns only the first
// of these steps.
func (t *teller) answers() []Step {
	var out []Step
	for _, p := range t.Pairs {
		c := p.Complete
		if c == nil || c.Type != history.Info || c.Time < t.Start || c.Time > t.Finding.To || !slices.Contains(t.Cast, c.Client) ||
			t.Finding.Lock != "" && c.Lock != t.Finding.Lock {
			continue
		}
		told := map[string]string{
			history.FAcquire: "c%d got no answer to its attempt and gave it up: it does not know whether it had acquired the lock",
			history.FRelease: "c%d got no answer to its release and went on: it does not know whether the lock is free",
		}[c.F]
		if told == "" {
			continue
		}
		if c.Reason == history.Presumed {
			told = "c%d missed an answer to its attempt, and its lock reported that another client holds it: whether the client had acquired the lock is unknown"
		}
		text := fmt.Sprintf(told, c.Client)
		if refused, ok := t.refused(p); ok {
			kind, _, _ := strings.Cut(string(refused.Reply), " ")
			text = fmt.Sprintf("%s answered c%d's %s with an error, %s", refused.Node, c.Client, c.F, kind)
		}
		out = append(out, Step{At: c.Time, On: history.ClientName(c.Client), Text: text, Weight: aside})
		if t.leftFree() { // the step of waits counts the later attempts
			break
		}
	}
	return out
}

// refused returns the last command of an operation. ok reports whether the node's reply to it was
// an error.
func (t *teller) refused(p history.Pair) (last history.Command, ok bool) {
	for _, c := range t.Commands {
		if c.Op == p.Invoke.Index && c.Client == p.Invoke.Client && c.N > 0 {
			last, ok = c, checker.IsError(string(c.Reply))
		}
	}
	return last, ok
}
