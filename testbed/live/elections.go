package live

import (
	"sync"

	"github.com/lockstorm/lockstorm/history"
)

// elections tracks the masters that servers elect.
type elections struct {
	*provocation

	mu     sync.Mutex // guards the shards, too
	record func(history.Op)
	early  []history.Op // events before OnElection
}

// shard is a master with its replicas. In a cluster, a shard has a third of the slots.
type shard struct {
	key    string // a key in one of the shard's slots; "" if the shard is the only one
	nodes  []*node
	master *node        // if heir is set, heir replaces this master
	heir   *node        // elected while master may still serve; else nil
	moved  map[int]bool // clients that reached heir
}

// present returns the master that was elected last. The caller holds elections.mu.
func (s *shard) present() *node {
	if s.heir != nil {
		return s.heir
	}
	return s.master
}

// from returns history.Op.From for the shard's events: the name of the replaced master, or "" if the
// shard is the only one.
func (s *shard) from() string {
	if s.key == "" {
		return ""
	}
	return s.master.name
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

// report records an event. The caller holds mu.
func (l *elections) report(op history.Op) {
	op.Process = history.Nemesis
	if l.record == nil {
		l.early = append(l.early, op)
		return
	}
	l.record(op)
}

// elected notes a new master of the shard. The previous master may not know of it yet. The caller
// holds mu.
func (l *elections) elected(s *shard, n *node) {
	lost := s.present().name
	if !l.explains() {
		l.report(history.Op{Client: history.NoClient, F: history.FElection, Node: lost})
	}
	l.replaced(lost)
	l.unite(s) // an earlier heir is now the master that n replaces
	s.heir = n
	n.aof.begin(n.dir, n.clock())
	if _, err := s.master.running(); err != nil {
		l.unite(s)
	}
}

// unite ends a period in which the shard has two masters: heir becomes the only master. The caller
// holds mu.
func (l *elections) unite(s *shard) {
	if s.heir == nil {
		return
	}
	l.report(history.Op{Client: history.NoClient, F: history.FPromote, Node: s.heir.name, From: s.from()})
	s.master, s.heir = s.heir, nil
	clear(s.moved)
}

// reached notes that a client is about to reach the node. The caller holds mu.
func (l *elections) reached(s *shard, client int, n *node) {
	if n == s.heir && !s.moved[client] {
		s.moved[client] = true
		l.report(history.Op{Client: client, F: history.FSplit, Node: n.name, From: s.from()})
	}
}
