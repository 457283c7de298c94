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
}

// Contended measures a trial up to its liveness phase, because in that phase each client takes the
// lock only once more.
func Contended(e history.Evidence) Contention {
	e = beforeHealing(e)
	c := checker.NewCase(e)
	p := progress.MeasureCase(c.Case)
	m := Contention{Waits: progress.Waits(c.Case), Grants: p.Grants, Commands: p.Commands}
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
