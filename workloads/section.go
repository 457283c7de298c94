package workloads

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Section is a client's decisions about one critical section, as data.
type Section struct {
	Lock  int          `json:"lock,omitempty"`  // number of the lock, from 0
	Mode  history.Mode `json:"mode,omitempty"`  // how the section uses a read-write lock; "" = write
	Depth int          `json:"depth,omitempty"` // how often a reentrant lock is acquired; 0 = once
	// Outer says that the work of a nested section comes between the inner releases and the last one.
	Outer bool          `json:"outer,omitempty"`
	Retry time.Duration `json:"retry"` // pause between two attempts to acquire
	// Hold is the total work time between touches of the resource. In the liveness phase, in which
	// all clients wait for a turn, the work takes at most 1.5 times Options.Hold.
	Hold time.Duration `json:"hold"`
	// Late is how long the client stops between its last check of the lease and its next write or
	// extension, as in a garbage collection. It is ignored in the liveness phase.
	Late time.Duration `json:"late,omitempty"`
	Rest time.Duration `json:"rest"` // pause after the section
	// Patience is how long the client tries to acquire before the context of its attempts ends; 0
	// = until it succeeds. It is ignored in the liveness phase.
	Patience time.Duration `json:"patience,omitempty"`
	// Cancel says that the context is cancelled after Patience; otherwise it has a deadline from
	// the start.
	Cancel bool `json:"cancel,omitempty"`
}

// Decide returns a client's decisions for its critical section n, counted from 0 through the whole
// trial. It is a pure function of the workload, the options, client and n, and ignores
// Options.Script.
func (w Workload) Decide(o Options, client, n int) Section {
	r := rand.New(rand.NewPCG(o.Seed, uint64(client)<<32|uint64(uint32(n))))
	// Draw all numbers before use: changing one option must not change the decisions that
	// depend on other options.
	lock, retry, hold, rest, overrun, own := r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()
	s := Section{
		Lock: int(lock * float64(o.Keys)),
		// Clients with equal retry intervals would split RedLock's votes for ever
		// (redis.io, "Distributed Locks with Redis": "try again after a random delay").
		Retry: max(about(o.Retry, retry), time.Microsecond),
		Hold:  about(o.Hold, hold),
		Rest:  about(o.Rest, rest),
	}
	if overrun < o.Overrun {
		s.Hold = o.outlast()
	}
	if w.choose != nil {
		w.choose(&s, o, own)
	}
	return s
}

// about returns 0.5 to 1.5 times the mean. The argument where, a random number from 0 to 1, selects
// the factor. The result is rounded to microseconds, so that clients that start at different fractions
// of a microsecond never act at the same instant of a virtual clock.
func about(mean time.Duration, where float64) time.Duration {
	return time.Duration(float64(mean) * (0.5 + where)).Round(time.Microsecond)
}
