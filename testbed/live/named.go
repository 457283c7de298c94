package live

import (
	"maps"
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// namedKeys are the keys that clients' commands named. On a server that others use, only these keys are
// looked at. A nil *namedKeys notes nothing.
type namedKeys struct {
	mu   sync.Mutex
	keys map[string]bool
}

// add notes the keys among a command's arguments.
func (n *namedKeys) add(args []history.Bytes) {
	c := resp.Of(args)
	if n == nil || c.Is(resp.Channels) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range resp.Keys(c, args) {
		n.keys[string(key)] = true
	}
}

// all returns the keys, sorted.
func (n *namedKeys) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.keys))
}
