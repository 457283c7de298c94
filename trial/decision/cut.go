package decision

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// spareSections is how many critical sections a client of a continuation may run after the
// cut. The disturbed part ends before a client needs more.
const spareSections = 200

// Cut returns the spec of a continuation of the trial that recorded ops. The continuation is cut at the
// instant in the parameter at, on the history's clock. Then the faults in force end, and faults that have
// not begun give up. Critical sections that clients had begun stay as they were. In continuation 0, later
// sections stay too; in every other continuation, they are drawn anew.
func Cut(s trial.Spec, ops []history.Op, at time.Duration, continuation int) trial.Spec {
	s.Plan = healed(s.Plan, ops, at)
	s.Options.Script = script(s, ops, at, continuation)
	s.Schedule, s.Size, s.Attempt = "", 0, 0
	return s
}

// healed returns a plan without effects after an instant. Actions that had not begun wait until
// that instant, as in the recorded trial: an action that waits at a point delays clients there a
// little.
func healed(p nemesis.Plan, ops []history.Op, at time.Duration) nemesis.Plan {
	begun, ended := map[int]time.Duration{}, map[int]time.Duration{}
	for _, op := range ops {
		switch {
		case op.Process != history.Nemesis || op.Window == nil:
		case op.Type == history.Invoke:
			begun[op.Window.ID] = op.Time
		default:
			ended[op.Window.ID] = op.Time
		}
	}
	p = slices.Clone(p)
	for i := range p {
		a := &p[i]
		from, ok := begun[a.ID]
		to, over := ended[a.ID]
		switch {
		case !ok || from > at:
			a.By = min(a.By, max(0, at-start(ops)-rounding).Truncate(time.Microsecond))
		case !over || to > at:
			a.For, a.Until, a.Linger, a.Limit = max((at-from).Truncate(time.Microsecond), time.Microsecond), nil, 0, 0
		}
	}
	return p
}

// rounding is how long after its latest start (By) an action may still begin.
const rounding = 101 * time.Microsecond

// start returns the time at which the clients started: a plan's times count from there.
func start(ops []history.Op) time.Duration {
	i := slices.IndexFunc(ops, func(op history.Op) bool { return op.Process != history.Nemesis })
	if i < 0 {
		return 0
	}
	return ops[i].Time
}

// script returns the critical sections of a continuation.
func script(s trial.Spec, ops []history.Op, at time.Duration, continuation int) [][]workloads.Section {
	w, _ := workloads.ByName(s.Workload)
	o, scripted := s.Options, len(s.Options.Script) > 0
	if scripted && continuation == 0 {
		return o.Script
	}
	end, _ := slices.BinarySearchFunc(ops, at+1, func(op history.Op, t time.Duration) int { return int(op.Time - t) })
	past := w.Scripted(o, ops[:end]).Script
	fresh := o
	fresh.Script = nil
	if continuation > 0 {
		fresh.Seed = (o.Seed + uint64(continuation)*0x9e3779b97f4a7c15) % trial.MaxSeed
	}
	all := make([][]workloads.Section, len(past))
	for client, sections := range past {
		length := len(sections) + spareSections
		if scripted {
			length = 0
			if client < len(o.Script) {
				length = len(o.Script[client])
			}
		}
		if len(sections) < length { // leave out the section that the client had not begun: Scripted adds it
			sections = sections[:max(0, len(sections)-1)]
		}
		all[client] = slices.Clone(sections)
		for n := len(sections); n < length; n++ {
			all[client] = append(all[client], w.Decide(fresh, client, n))
		}
	}
	return all
}
