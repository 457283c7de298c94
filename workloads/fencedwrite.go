package workloads

import (
	"github.com/lockstorm/lockstorm/history"
)

// fencedWrite is Kleppmann's case for fencing tokens ("How to do distributed locking", 2016): a
// client checks its lease, stops for longer than the lease, and then writes. Between the check and
// the late write, another client's section may run. No check of the lease could prevent this write,
// but a resource that checks fencing tokens then refuses it.
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
	// A client whose lease has no deadline believes that it holds the lock until its late write is
	// done, but the resource refuses that write.
	Like:   []string{"slow-work"},
	LikeIn: "exclusion",
	body:   incrementOnce,
	values: 1,
	late:   true,
}

// lateWriters is the share of critical sections whose write comes late. The share is low, so that
// other sections run between two late writes.
const lateWriters = 1.0 / 6
