package trial

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lockstorm/lockstorm/locks"
)

// processes are the processes that clients of one trial have started. The zero value is ready for use.
type processes struct {
	mu  sync.Mutex
	all map[string][]locks.Process // by locks.Client.ID, in the order of Adopt
}

// of returns the client for a recipe: processes that it adopts are noted. of may be called concurrently.
func (p *processes) of(c *locks.Client) *locks.Client {
	noting := *c
	noting.Adopt = func(one locks.Process) {
		p.mu.Lock()
		if p.all == nil {
			p.all = map[string][]locks.Process{}
		}
		p.all[c.ID] = append(p.all[c.ID], one)
		p.mu.Unlock()
		if c.Adopt != nil {
			c.Adopt(one)
		}
	}
	return &noting
}

// end ends all processes, after the testbed has ended the clients. It calls said, if not nil, for each
// client that had processes.
func (p *processes) end(said func(client, stderr string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, client := range slices.Sorted(maps.Keys(p.all)) {
		var text strings.Builder
		for _, one := range p.all[client] {
			text.WriteString(one.End())
		}
		if said != nil {
			said(client, text.String())
		}
	}
}
