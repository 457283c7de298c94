package live

import (
	"cmp"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// elections keep account of who is the primary where Sentinels decide it. They
// hear it from what Sentinels tell the nodes, before it reaches these.
type elections struct {
	world *env
	*provocation

	mu     sync.Mutex
	record func(history.Op)
	early  []history.Op // from before there was somebody to record
	old    *node        // that was promoted last, or rules beside heir
	heir   *node        // that was promoted beside old; nil if old rules alone
	moved  map[int]bool // clients that reach heir
}

func newElections(e *env) *elections {
	// What was silent for downAfter while the fault lasted may be put to the vote
	// after it; the winner has failoverTimeout to win, and as long again to find a
	// replica that can be told. The next try would come after both, and finds the
	// primary alive.
	why := provocation{grace: downAfter + 2*failoverTimeout}
	return &elections{world: e, provocation: &why, old: e.nodes[0], moved: map[int]bool{}}
}

// OnElection implements testbed.Elections.
func (l *elections) OnElection(record func(history.Op)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = record
	for _, op := range l.early {
		record(op)
	}
	l.early = nil
}

// tell records an event. mu is held.
func (l *elections) tell(op history.Op) {
	op.Process = history.Nemesis
	if l.record == nil {
		l.early = append(l.early, op)
		return
	}
	l.record(op)
}

// hearing listens to what Sentinels tell a node. A transaction in which it is told
// whom to follow is executed after that has come.
func (l *elections) hearing(n *node) hearing {
	return func(_ string, args []history.Bytes) {
		switch resp.Name(args) {
		case "SLAVEOF", "REPLICAOF":
			if resp.Name(args[1:]) == "NO" {
				l.elected(n)
			} else {
				l.deposed(n)
			}
		}
	}
}

// elected: the node is about to become a primary.
func (l *elections) elected(n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.old && l.heir == nil || n == l.heir {
		return // told again
	}
	lost := cmp.Or(l.heir, l.old).name
	if !l.explains() {
		l.tell(history.Op{Client: history.NoClient, F: history.FElection, Node: lost})
	}
	l.replaced(lost)
	l.unite() // the heir of before is lost as well
	l.heir = n
	if _, err := l.old.running(); err != nil {
		l.unite()
	}
	l.world.mu.Lock()
	l.world.primary = n
	l.world.mu.Unlock()
	n.aof.begin(n.dir, n.clock())
}

// deposed: the node, if it was a primary, is none any more.
func (l *elections) deposed(n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.old {
		l.unite()
	}
}

// unite ends a time of two primaries. mu is held.
func (l *elections) unite() {
	if l.heir == nil {
		return
	}
	l.tell(history.Op{Client: history.NoClient, F: history.FPromote, Node: l.heir.name})
	l.old, l.heir = l.heir, nil
	clear(l.moved)
}

// reaching: a client is about to connect to the node.
func (l *elections) reaching(client int, n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.heir && !l.moved[client] {
		l.moved[client] = true
		l.tell(history.Op{Client: client, F: history.FSplit, Node: n.name})
	}
}

// rivals are the primaries, if there are two.
func (l *elections) rivals() (old, heir *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heir == nil {
		return nil, nil
	}
	return l.old, l.heir
}
