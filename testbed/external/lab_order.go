package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// nameOf is the name of a client's connection to a node.
func (e *labEnv) nameOf(client int, node string, conn int) string {
	return fmt.Sprintf("%sc%d-%s-%d", e.mark, client, node, conn)
}

// tell passes on all commands, with what is learnt of them from the nodes. They
// come at the end only, because what was answered late may have been executed
// early. The error is that nothing says why the order is not known.
func (e *labEnv) tell() (err error) {
	e.mu.Lock()
	commands := e.ended
	e.mu.Unlock()
	slices.SortFunc(commands, func(a, b history.Command) int { return cmp.Compare(a.Index, b.Index) })
	if why := e.learn(commands); why != nil {
		err = e.note(why)
	}
	for _, c := range commands {
		e.setup.Commands(c)
	}
	return err
}

// learn stamps the sorted commands. It is all or nothing: that one command is
// stamped says of those that are not that they were not executed.
func (e *labEnv) learn(commands []history.Command) error {
	talks := map[string]map[string]*talk{} // by node and name
	for i := range commands {
		c := &commands[i]
		if talks[c.Node] == nil {
			talks[c.Node] = map[string]*talk{}
		}
		name := e.nameOf(c.Client, c.Node, c.Conn)
		t := talks[c.Node][name]
		if t == nil {
			t = new(talk)
			talks[c.Node][name] = t
		}
		t.commands = append(t.commands, c)
	}
	var all []stamp
	var errs []error
	for i, ear := range e.ears {
		lines, err := ear.finish(context.WithoutCancel(e.ctx))
		var stamps []stamp
		if err == nil {
			stamps, err = order(e.mark, talks[fmt.Sprintf("n%d", i)], lines)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("n%d: %w", i, err))
		}
		all = append(all, stamps...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range all {
		s.give()
	}
	return nil
}

// note keeps why the order of execution is not known beside the trial. Who wants no logs
// (testbed.Setup.Logs) sees from the commands that it is not.
func (e *labEnv) note(why error) error {
	if e.setup.Logs == "" {
		return nil
	}
	text := fmt.Sprintf("The order in which commands were executed is not known. %v\n", why)
	err := os.MkdirAll(e.setup.Logs, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(e.setup.Logs, "order.log"), []byte(text), 0o644)
	}
	if err != nil {
		return fmt.Errorf("the order of commands is not known (%w), which cannot be kept: %w", why, err)
	}
	return nil
}
