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
		return nil
	}
	op := a.Operations[0]
	verb, did := "acquire", "set the key"
	if a.What == account.RemovalDenied {
		verb, did = "release", "removed its key"
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
