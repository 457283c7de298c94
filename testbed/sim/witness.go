package sim

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

var _ node.Witness = (*server)(nil)

// serves reports whether clients use the node whenever it is up.
func (s *server) serves() bool { return s.sim.primary == nil || s.sim.primary == s }

// Ends implements node.Witness.
func (s *server) Ends(deadline time.Time) time.Duration { return deadline.Sub(epoch) - s.skew }

// Changed implements node.Witness: it reports the change to the trial's setup.
func (s *server) Changed(key string, by history.ChangedBy, before, after *history.KeyContent) {
	exec := s.ran
	if by == history.ByCommand {
		exec = s.executed
	}
	s.sim.setup.Keys(history.KeyChange{
		Index: s.sim.changes, Node: s.name, Key: history.Bytes(key), By: by, Exec: exec,
		From: now(), To: now(), Before: before, After: after,
	})
	s.sim.changes++
}
