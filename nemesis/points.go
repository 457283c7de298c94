package nemesis

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Points returns the places in a protocol that a fault-free probe trial passed.
func Points(cmds []history.Command) []testbed.Point {
	return nil
}
