package checker

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// breakdowns are the ways in which the code under test can end a trial itself, by the event
// that the history has for each.
var breakdowns = map[string]struct {
	cause Cause
	what  What
}{
	history.FDeadlock: {Deadlock, AllWaited},
	history.FPanic:    {Panic, Panicked},
	history.FRunaway:  {Runaway, DidNotStop},
}

// conduct decides whether the code under test let the trial end in its own
// time: no deadlock, no panic, no runaway.
func conduct(_ context.Context, f *caseFile) Verdict {
	if _, err := f.pairs(); err != nil {
		return impossible(err)
	}
	op, broke := brokeDown(f.Ops)
	if !broke {
		return Verdict{Result: Held}
	}
	b := breakdowns[op.F]
	told := Finding{
		Cause: b.cause, From: op.Time, To: op.Time, Ops: []int{op.Index},
		Account: Account{Fact: Fact{What: b.what, At: op.Time, Text: op.Error}},
	}
	if op.Client >= 0 {
		told.Clients = []int{op.Client}
		told.Account.Clients = told.Clients
	}
	return Verdict{Result: Violated, Findings: []Finding{told}}
}

// brokeDown finds the first event of a breakdown. Anything that had not happened by then
// proves nothing: the trial gave it no time.
func brokeDown(ops []history.Op) (history.Op, bool) {
	for _, op := range ops {
		if _, ok := breakdowns[op.F]; ok && op.Process == history.Nemesis && op.Window == nil {
			return op, true
		}
	}
	return history.Op{}, false
}
