package workloads

import (
	"github.com/lockstorm/lockstorm/history"
)

// fencedWrite is Kleppmann's case for fencing tokens ("How to do distributed locking",
// 2016): a client checks its lease, stops for longer than the lease, and writes. No check
// of the lease could prevent that, but a resource that checks growing fences refuses the
// write. Between the check and the late write, another client's section may run.
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
	// Whoever is told no deadline believes until the late write is done, but the resource
	// refuses that write.
	Like:    []string{"slow-work"},
	LikeIn:  "exclusion",
	section: mutexSection,
	values:  1,
	late:    true,
}

// lateWriters is the share of critical sections whose write comes late, low enough that
// other sections run between two of them.
const lateWriters = 1.0 / 6
