package bench

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
)

// Contention is the result of a trial in which clients compete for one lock.
type Contention struct {
	Waits    []time.Duration // from the first attempt to the grant, ascending
	Grants   int
	Commands int           // of all clients, without handshakes and PING
	Lasted   time.Duration // from the first attempt to the beginning of the liveness phase
	Jain     float64       // progress.Measures.Jain
}

// Contended measures a trial up to its liveness phase, because in that phase each client takes the
// lock only once more.
func Contended(e history.Evidence) Contention {
	e = beforeHealing(e)
	c := checker.NewCase(e)
	p := progress.MeasureCase(c.Case)
	m := Contention{Waits: progress.Waits(c.Case), Grants: p.Grants, Commands: p.Commands, Jain: p.Jain}
	i := slices.IndexFunc(e.Ops, func(op history.Op) bool { return op.F == history.FAcquire })
	if i >= 0 {
		m.Lasted = e.Ops[len(e.Ops)-1].Time - e.Ops[i].Time
	}
	return m
}

// beforeHealing returns the evidence up to the beginning of the liveness phase. If the trial
// reached that phase, the last entry is history.FHealed.
func beforeHealing(e history.Evidence) history.Evidence {
	i := slices.IndexFunc(e.Ops, func(op history.Op) bool { return op.Event(history.FHealed) })
	if i < 0 {
		return e
	}
	healed := e.Ops[i].Time
	e.Ops = e.Ops[:i+1]
	late := slices.IndexFunc(e.Commands, func(c history.Command) bool { return c.Sent > healed })
	if late >= 0 {
		e.Commands = e.Commands[:late]
	}
	e.Keys, e.Watched = nil, false // the measures use only operations and commands
	return e
}

// Keeping is the cost of keeping a lock.
type Keeping struct {
	Commands int           // sent in the background by the holder between acquire and release
	Held     time.Duration // from the grant to the beginning of the release, or to the history's end
}

// Held measures the background commands, such as renewals, during the first hold of the
// trial's first holder. The error says why the history is impossible.
func Held(e history.Evidence) (Keeping, error) {
	pairs, err := history.Pairs(e.Ops)
	if err != nil || len(e.Ops) == 0 {
		return Keeping{}, err
	}
	i := slices.IndexFunc(pairs, func(p history.Pair) bool { return p.Invoke.F == history.FAcquire && p.Done() == history.OK })
	if i < 0 {
		return Keeping{}, nil
	}
	client, from, to := pairs[i].Invoke.Client, pairs[i].Complete.Time, e.Ops[len(e.Ops)-1].Time
	for _, p := range pairs[i:] {
		if p.Invoke.F == history.FRelease && p.Invoke.Client == client {
			to = p.Invoke.Time
			break
		}
	}
	k := Keeping{Held: to - from}
	for _, c := range e.Commands {
		if c.N > 0 && c.Op < 0 && c.Client == client && c.Sent > from && c.Sent < to {
			k.Commands++
		}
	}
	return k, nil
}

// Recovery says how clients acquired the lock again in a trial with one fault.
type Recovery struct {
	Struck bool // the fault hit something while the lock was wanted
	Never  bool // clients wanted the lock, but none acquired it again
	// After is the time from the crash, or from the fault's end, to the next grant
	// (progress.Measures.RecoveryMax).
	After time.Duration
	// Since is the time from the fault's beginning to the next grant; 0 if there was none.
	Since time.Duration
}

// Recovered measures how clients acquired the lock again in a trial with one fault.
func Recovered(e history.Evidence) Recovery {
	p := progress.Measure(e)
	r := Recovery{Struck: p.Recoveries+p.Unrecovered > 0, Never: p.Unrecovered > 0, After: p.RecoveryMax}
	i := slices.IndexFunc(e.Ops, func(op history.Op) bool {
		return op.Process == history.Nemesis && op.Window != nil && op.Type == history.Invoke
	})
	if i < 0 {
		return r
	}
	for _, op := range e.Ops[i:] {
		if op.F == history.FAcquire && op.Type == history.OK {
			r.Since = op.Time - e.Ops[i].Time
			break
		}
	}
	return r
}
