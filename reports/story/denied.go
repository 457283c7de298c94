package story

import (
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// denied returns the steps that precede an operation's false answer: when the operation began, and
// what its commands did. It returns none unless the harm is a false answer (Finding.Denies).
func (t *teller) denied() []Step {
	a := t.Finding.Account
	if !t.Finding.Denies() || len(a.Operations) == 0 {
		return t.heldRefused()
	}
	op := a.Operations[0]
	verb, did := "acquire", "set the key"
	switch a.What {
	case account.RemovalDenied:
		verb, did = "release", "removed its key"
	case account.GrantClaimed:
		did = "took nothing"
	}
	out := []Step{{At: op.From, On: history.ClientName(op.Client), Text: fmt.Sprintf("c%d began to %s %s", op.Client, verb, quoted(t.Finding.Lock)), Weight: turning}}
	commands := t.commandsAt(t.Finding.Commands)
	if len(commands) == 0 {
		return out
	}
	var nodes []string
	for _, c := range commands {
		nodes = append(nodes, c.Node)
	}
	slices.SortFunc(nodes, wording.ByNumber)
	first := commands[0]
	text := fmt.Sprintf("c%d's %s %s on %s", first.Client, t.commandName(first), did, wording.List(slices.Compact(nodes)))
	return append(out, Step{At: a.Since, On: first.Node, Text: text, Weight: turning})
}

// heldRefused returns the step at which a client took nothing and was told that it had the lock.
func (t *teller) heldRefused() []Step {
	commands := t.commandsAt(t.Finding.Commands)
	if !t.because(account.HeldRefused) || len(commands) == 0 {
		return nil
	}
	c := commands[0]
	return []Step{{At: c.Arrived, On: c.Node, Weight: turning, Text: fmt.Sprintf(
		"c%d's %s took nothing on %s, since another client had the key, and c%d was told all the same that it had the lock", c.Client, t.commandName(c), c.Node, c.Client)}}
}
