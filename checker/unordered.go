package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// vouched is the reason, unless it is a race that only the order of commands
// shows which nobody saw: where no node's order of execution is known, of commands
// that overlapped each may have run first.
func (w *wire) vouched(r reason) reason {
	if r.cause != Race || !w.unobserved() {
		return r
	}
	for _, pos := range r.cmds {
		if pos >= 0 && w.overlapped(pos) {
			return untold
		}
	}
	return r
}

// unobserved says whether nobody looked at the nodes: that a command is not known
// to have arrived tells nothing then.
func (w *wire) unobserved() bool {
	return !slices.ContainsFunc(w.Commands, func(c history.Command) bool { return c.Exec > 0 || c.Arrived > 0 })
}

// overlapped says whether another client's command on one of the same keys may
// have run before or after this one.
func (w *wire) overlapped(pos int) bool {
	mine, at := w.Commands[pos], w.ran(pos)
	keys := readCommand(mine, w.scripts).keys
	for other, c := range w.Commands {
		if c.Node != mine.Node || c.Client == mine.Client {
			continue
		}
		if then := w.ran(other); then.lo > at.hi || then.hi < at.lo {
			continue
		}
		o := readCommand(c, w.scripts)
		if len(o.acts) > 0 && slices.ContainsFunc(o.keys, func(k string) bool { return slices.Contains(keys, k) }) {
			return true
		}
	}
	return false
}

// obscured says whether the client's grant that the finding is about rests on a
// command that nobody can put in order: what it set is not known then, and no
// earlier grant may stand for it.
func (w *wire) obscured(f Finding, client int) bool {
	if !w.unobserved() {
		return false
	}
	granted := map[int]bool{}
	for _, i := range f.Ops {
		if op, ok := w.invocation(i); ok {
			if p, isAcquire := w.acquired(op); isAcquire && p.Invoke.Client == client {
				granted[op] = true
			}
		}
	}
	return slices.ContainsFunc(w.Commands, func(c history.Command) bool {
		return granted[c.Op] && len(readCommand(c, w.scripts).acts) > 0
	})
}
