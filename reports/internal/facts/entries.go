package facts

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// OpAt returns the operation entry with the index; false if there is none.
func OpAt(ops []history.Op, index int) (history.Op, bool) {
	i, ok := slices.BinarySearchFunc(ops, index, func(o history.Op, n int) int { return cmp.Compare(o.Index, n) })
	if !ok {
		return history.Op{}, false
	}
	return ops[i], true
}

// OpOf returns the operation entry with the index; the zero Op if there is none.
func OpOf(ops []history.Op, index int) history.Op {
	op, _ := OpAt(ops, index)
	return op
}

// CommandAt returns the command with the index; false if there is none.
func CommandAt(commands []history.Command, index int) (history.Command, bool) {
	if index >= 0 && index < len(commands) && commands[index].Index == index {
		return commands[index], true
	}
	for _, c := range commands {
		if c.Index == index {
			return c, true
		}
	}
	return history.Command{}, false
}

// End returns the time of the last operation or command in the evidence.
func End(e history.Evidence) time.Duration {
	var end time.Duration
	if n := len(e.Ops); n > 0 {
		end = e.Ops[n-1].Time
	}
	for _, c := range e.Commands {
		end = max(end, c.Sent, c.Served, c.Replied)
	}
	return end
}
