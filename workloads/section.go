package workloads

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Section is what a client decides about one critical section, as data.
type Section struct {
	Lock  int           `json:"lock,omitempty"`  // which of the locks, from 0
	Mode  history.Mode  `json:"mode,omitempty"`  // of a read-write lock; "" = write
	Depth int           `json:"depth,omitempty"` // how often a reentrant lock is acquired; 0 = once
	Retry time.Duration `json:"retry"`           // between two attempts to get in
	// Hold is how long it works between touches of the resource, in all. In the
	// liveness phase, where everybody waits for a turn, nobody works longer than
	// 1.5 times Options.Hold, whatever was decided.
	Hold time.Duration `json:"hold"`
	// Late is for how long the client stops between its last look at the lease and
	// the write that follows, as in a pause of its garbage collector; not in the
	// liveness phase.
	Late time.Duration `json:"late,omitempty"`
	Rest time.Duration `json:"rest"` // afterwards
	// Patience is for how long it tries to get in, with all attempts: then their
	// context ends. 0 = until it is in. Not in the liveness phase.
	Patience time.Duration `json:"patience,omitempty"`
	// Cancel: the context is cancelled then; else that is its deadline from the start.
	Cancel bool `json:"cancel,omitempty"`
}

// Decide says what a client does in its critical section n, counted from 0 through
// the whole trial. It is a pure function of the options' dials and seed, of
// client and n, and does not look at a script.
func (w Workload) Decide(o Options, client, n int) Section {
	r := rand.New(rand.NewPCG(o.Seed, uint64(client)<<32|uint64(uint32(n))))
	// All numbers are drawn, always, before any is used: who turns one dial leaves
	// what hangs on the others as it was.
	lock, retry, hold, rest, overrun, own := r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()
	s := Section{
		Lock: int(lock * float64(o.Keys)),
		// Clients that all tick alike would split RedLock's votes for ever
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

// about is a duration of 0.5 to 1.5 times the mean, by a number from 0 to 1.
// Round times keep apart on a virtual clock those who started apart.
func about(mean time.Duration, where float64) time.Duration {
	return time.Duration(float64(mean) * (0.5 + where)).Round(time.Microsecond)
}

// Scripted returns the options of a trial with these, which left this history,
// as a script: clients decide the same as they did, which can then be changed
// one by one. With all else the same, the trial does the same. The script may
// have one section more for each client than it began: it cannot be seen in a
// history whether a client was about to.
func (w Workload) Scripted(o Options, ops []history.Op) Options {
	begun := w.begun(o.Clients, ops)
	script := make([][]Section, max(0, o.Clients))
	for client := range script {
		for n := range begun[client] + 1 {
			if len(o.Script) == 0 {
				script[client] = append(script[client], w.Decide(o, client, n))
			} else if client < len(o.Script) && n < len(o.Script[client]) {
				script[client] = append(script[client], o.Script[client][n])
			}
		}
	}
	o.Script = script
	return o
}

// begun counts the critical sections that the history shows each client to have
// begun before the liveness phase; of a workload that quits, in which that cannot be
// seen, at least as many. In each, all acquires come before the first release.
func (w Workload) begun(clients int, ops []history.Op) map[int]int {
	type place int
	const (
		outside place = iota
		waiting
		inside
	)
	at, begun := make(map[int]place, clients), make(map[int]int, clients)
	for _, op := range ops {
		now := at[op.Client]
		switch {
		case op.Process == history.Nemesis && op.F == history.FHealed:
			return begun
		case op.Process == history.Nemesis:
		case op.F == history.FRelease:
			at[op.Client] = outside
		case op.F != history.FAcquire || now == inside:
		case op.Type == history.Invoke && now == outside:
			begun[op.Client]++
			at[op.Client] = waiting
		case op.Type == history.OK:
			at[op.Client] = inside
		case op.Type == history.Info, op.Type == history.Fail && (w.once || w.quits || op.Reason != history.Busy):
			at[op.Client] = outside
		}
	}
	return begun
}
