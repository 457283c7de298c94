package live

import (
	"cmp"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// elections tracks the primary that Sentinels elect. It reads the commands from Sentinels
// to nodes before the nodes receive them.
type elections struct {
	world *env
	*provocation

	mu     sync.Mutex
	record func(history.Op)
	early  []history.Op // events before OnElection
	old    *node        // the primary; if heir is set, the primary that heir replaces
	heir   *node        // promoted while old may still serve; else nil
	moved  map[int]bool // clients that have dialled heir
}

func newElections(e *env) *elections {
	// Sentinels may still vote on a node that was silent for downAfter during the fault,
	// after the fault. The leading Sentinel has failoverTimeout to win the vote, and as
	// long again to find a replica to promote. It would try again only later, and then find
	// the primary alive.
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

// hearing returns a listener to the commands from Sentinels to n. It hears a REPLICAOF in a
// transaction before the node executes the transaction at EXEC.
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

// elected notes that the node is about to become a primary.
func (l *elections) elected(n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.old && l.heir == nil || n == l.heir {
		return // noted already
	}
	lost := cmp.Or(l.heir, l.old).name
	if !l.explains() {
		l.tell(history.Op{Client: history.NoClient, F: history.FElection, Node: lost})
	}
	l.replaced(lost)
	l.unite() // if there was an heir, it is lost, too
	l.heir = n
	if _, err := l.old.running(); err != nil {
		l.unite()
	}
	l.world.mu.Lock()
	l.world.primary = n
	l.world.mu.Unlock()
	n.aof.begin(n.dir, n.clock())
}

// deposed notes that the node is no primary any more. It may have been a replica all along.
func (l *elections) deposed(n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.old {
		l.unite()
	}
}

// unite ends a period of two primaries. mu is held.
func (l *elections) unite() {
	if l.heir == nil {
		return
	}
	l.tell(history.Op{Client: history.NoClient, F: history.FPromote, Node: l.heir.name})
	l.old, l.heir = l.heir, nil
	clear(l.moved)
}

// reaching notes that a client is about to connect to the node.
func (l *elections) reaching(client int, n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.heir && !l.moved[client] {
		l.moved[client] = true
		l.tell(history.Op{Client: client, F: history.FSplit, Node: n.name})
	}
}

// rivals returns the two primaries, or nil if there is only one.
func (l *elections) rivals() (old, heir *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heir == nil {
		return nil, nil
	}
	return l.old, l.heir
}
