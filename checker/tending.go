package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// seenTo returns the last time, up to before, at which the grant's owner changed its key;
// 0 if it never did. Its releases and its other acquires do not count. The change may be in
// another place of the key, where a watchdog may keep its time.
func (rp *replay) seenTo(g *keyspace.Grant, before time.Duration) time.Duration {
	last, _ := rp.lastTending(g, before)
	return last.at
}

// lastTending returns the change that seenTo tells the time of.
func (rp *replay) lastTending(g *keyspace.Grant, before time.Duration) (last tending, found bool) {
	if g.End != nil {
		before = min(before, g.End.At.Lo-1)
	}
	for _, t := range rp.tendings()[tended{g.Key, g.Client}] {
		if t.at > before {
			break
		}
		if (t.node == g.Node || g.Copied && t.at <= g.Came) && t.at >= g.At.Lo && (t.op < 0 || t.op == g.Op || rp.operation(t.op).Invoke.F == history.FExtend) {
			last, found = t, true
		}
	}
	return last, found
}

// tended identifies a key and a client that changed it.
type tended struct {
	key    string
	client int
}

// tending is one change of a key by a client: the node, the time, the place of the command
// in the log, and the operation; -1 for none.
type tending struct {
	node    string
	at      time.Duration
	cmd, op int
}

// tendings returns the changes of each key by each client, in order.
func (rp *replay) tendings() map[tended][]tending {
	if rp.tended == nil {
		rp.tended = map[tended][]tending{}
		for _, s := range rp.Steps {
			if s.Cmd < 0 {
				continue
			}
			k, c := rp.Evidence.Keys[s.Change], rp.Commands[s.Cmd]
			by := tended{string(k.Key), c.Client}
			rp.tended[by] = append(rp.tended[by], tending{k.Node, s.At.Lo, s.Cmd, c.Op})
		}
	}
	return rp.tended
}
