package workloads

import (
	"github.com/lockstorm/lockstorm/history"
)

// fencedWrite is Kleppmann's case for fencing tokens ("How to do distributed
// locking", 2016): a client looks at its lease, stops for longer than that lasts,
// and writes. No look could have helped; the resource knows better, if it checks
// fences and the lock's fences grow. Of the critical sections that are late
// another client's may lie between look and write.
var fencedWrite = Workload{
	Name:     "fenced-write",
	Doc:      "read-modify-write of a counter that checks fences; some writes come after their lease has ended",
	Standard: true,
	Suits:    func(c history.Claims) bool { return c.Fenced && !c.ReadWrite },
	choose: func(s *Section, o Options, own float64) {
		if own < lateWriters {
			s.Late = o.outlast()
		}
	},
	section: mutexSection,
	values:  1,
	late:    true,
}

// lateWriters is the share of critical sections whose write comes late: few
// enough that time is left for others between two of them.
const lateWriters = 1.0 / 6
