package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// lastWriteAt returns the last time, up to before, at which the grant's owner changed its key;
// 0 if it never did. Its releases and its other acquires do not count. The change may be in
// another place of the key, where a watchdog may keep its time.
func (rp *replay) lastWriteAt(g *keyspace.Grant, before time.Duration) time.Duration {
	last, _ := rp.lastWrite(g, before)
	return last.at
}

// lastWrite returns the change whose time lastWriteAt returns.
func (rp *replay) lastWrite(g *keyspace.Grant, before time.Duration) (last keyWrite, found bool) {
	if g.End != nil {
		before = min(before, g.End.At.Lo-1)
	}
	for _, t := range rp.keyWrites()[keyWriter{g.Key, g.Client}] {
		if t.at > before {
			break
		}
		if (t.node == g.Node || g.Copied && t.at <= g.Came) && t.at >= g.At.Lo && (t.op < 0 || t.op == g.Op || rp.operation(t.op).Invoke.F == history.FExtend) {
			last, found = t, true
		}
	}
	return last, found
}

// keyWriter identifies a key and a client that changed it.
type keyWriter struct {
	key    string
	client int
}

// keyWrite is one change of a key by a client: the node, the time, the place of the command
// in the log, and the operation; -1 for none.
type keyWrite struct {
	node    string
	at      time.Duration
	cmd, op int
}

// keyWrites returns the changes of each key by each client, in order.
func (rp *replay) keyWrites() map[keyWriter][]keyWrite {
	if rp.writes == nil {
		rp.writes = map[keyWriter][]keyWrite{}
		for _, s := range rp.Steps {
			if s.Cmd < 0 {
				continue
			}
			k, c := rp.Evidence.Keys[s.Change], rp.Commands[s.Cmd]
			by := keyWriter{string(k.Key), c.Client}
			rp.writes[by] = append(rp.writes[by], keyWrite{k.Node, s.At.Lo, s.Cmd, c.Op})
		}
	}
	return rp.writes
}
