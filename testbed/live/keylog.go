package live

import (
	"fmt"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// keyLog numbers the changes of all nodes' keys and passes them to Setup.Keys, one at a
// time.
type keyLog struct {
	keys   func(history.KeyChange)
	unseen func(node string, err error)

	mu   sync.Mutex
	next int
}

// newKeyLog returns a log if the setup wants the changes of keys, else nil. Without
// Setup.Unseen, a node whose keys cannot be observed ends the trial.
func newKeyLog(s testbed.Setup, end func(error)) *keyLog {
	if s.Keys == nil {
		return nil
	}
	l := &keyLog{keys: s.Keys, unseen: s.Unseen}
	if l.unseen == nil {
		l.unseen = func(node string, err error) { end(fmt.Errorf("keys of node %s: %w", node, err)) }
	}
	return l
}

func (l *keyLog) report(changes []history.KeyChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		c.Index = l.next
		l.next++
		l.keys(c)
	}
}
