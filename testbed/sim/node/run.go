package node

import (
	"slices"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// run runs a command that has been checked.
func (n *Node) run(s *Session, c *command, args []string) {
	if slices.ContainsFunc(c.integers, func(i int) bool { _, isInt := parseInt(args[i]); return !isInt }) {
		n.fail(notInteger)
	} else {
		c.run(call{n, s, c, args})
	}
	if s.track.on && !s.track.bcast && c.Is(resp.ReadOnly) {
		n.tracking.remember(s, resp.Keys(c.Command, args))
	}
}
