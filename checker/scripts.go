package checker

import (
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// This file tells whether a node had a script: an EVALSHA of one that it does not have
// runs nothing, and that it does not, only its reply says.

// keepScript remembers that the node had a script, and since when at the latest, if the
// command shows that.
func (n *node) keepScript(c history.Command, at when) {
	args := make([]string, 3)
	for i := range min(len(args), len(c.Args)) {
		args[i] = string(c.Args[i])
	}
	name, script := strings.ToUpper(args[0]), args[1]
	if name == "SCRIPT" {
		name, script = strings.ToUpper(args[0]+" "+args[1]), args[2]
	}
	reply := string(c.Reply)
	ran := !unheard(c) && (!IsError(reply) || diedHalfway(reply))
	switch name {
	case "SCRIPT FLUSH":
		clear(n.scripts)
		return
	case "EVALSHA", "EVALSHA_RO":
	case "EVAL", "EVAL_RO", "SCRIPT LOAD":
		ran = ran || unheard(c) && c.Ran()
	default:
		return
	}
	switch {
	case ran:
		n.scripts[digestOf(name, script)] = at.lo
	case strings.HasPrefix(strings.TrimPrefix(reply, "-"), "NOSCRIPT"):
		delete(n.scripts, digestOf(name, script))
	}
}

// hadScript says whether the node certainly had the script that a command, which ran
// in an order that is known, asked for.
func (w *wire) hadScript(x doing) bool {
	name, script := string(x.c.Args[0]), string(x.c.Args[1])
	if !strings.HasPrefix(strings.ToUpper(name), "EVALSHA") {
		return true // it brought it along
	}
	since, had := x.n.scripts[digestOf(name, script)]
	return had && !w.forgets(x.n.name, when{since, x.at.hi})
}

// scriptFlush is the fault that empties nodes' script caches.
const scriptFlush = "script-flush"

// forgets says whether the node may have lost its scripts in that time: they were
// flushed, or it was started anew, or took over from another node.
func (w *wire) forgets(node string, during when) bool {
	for _, win := range w.windows {
		over := win.Complete != nil && win.Complete.Time < during.lo
		if win.Invoke.F == scriptFlush && win.Invoke.Time <= during.hi && !over {
			return true
		}
	}
	down := Never
	for _, op := range w.Ops {
		if op.Process != history.Nemesis || op.Window != nil {
			continue
		}
		switch op.F {
		case history.FNodeDown:
			if op.Node == node {
				down = min(down, op.Time)
			}
		case history.FNodeUp:
			if op.Node == node && min(down, op.Time) <= during.hi && op.Time >= during.lo {
				return true
			}
			if op.Node == node {
				down = Never
			}
		case history.FPromote, history.FSplit, history.FElection:
			if during.lo <= op.Time && op.Time <= during.hi {
				return true
			}
		}
	}
	return down <= during.hi
}
