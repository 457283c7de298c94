package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// seenTo is when the grant's owner last changed its key before that time; 0 if it never did.
// Its releases and its other acquires do not count. The change may be in another place of
// the key: a watchdog may keep its time there.
func (w *wire) seenTo(g *keyspace.Grant, before time.Duration) (last time.Duration) {
	if g.End != nil {
		before = min(before, g.End.At.Lo-1)
	}
	for _, t := range w.tendings()[tended{g.Key, g.Client}] {
		if t.at > before {
			break
		}
		if (t.node == g.Node || g.Copied && t.at <= g.Came) && t.at >= g.At.Lo && (t.op < 0 || t.op == g.Op || w.operation(t.op).Invoke.F == history.FExtend) {
			last = t.at
		}
	}
	return last
}

// tended is a key, and a client that changed it.
type tended struct {
	key    string
	client int
}

// tending is where and when a client changed a key, in which operation; -1 for none.
type tending struct {
	node string
	at   time.Duration
	op   int
}

// tendings are the changes of each client, in order.
func (w *wire) tendings() map[tended][]tending {
	if w.tended == nil {
		w.tended = map[tended][]tending{}
		for _, s := range w.Steps {
			if s.Cmd < 0 {
				continue
			}
			k, c := w.Evidence.Keys[s.Change], w.Commands[s.Cmd]
			by := tended{string(k.Key), c.Client}
			w.tended[by] = append(w.tended[by], tending{k.Node, s.At.Lo, c.Op})
		}
	}
	return w.tended
}
