package checker

import (
	"context"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// breakdowns maps each event by which the code under test ends a trial to its cause.
var breakdowns = map[string]struct {
	cause Cause
	what  account.What
}{
	history.FDeadlock: {Deadlock, account.AllWaited},
	history.FPanic:    {Panic, account.Panicked},
	history.FRunaway:  {Runaway, account.DidNotStop},
}

// conduct decides whether the code under test finished without a deadlock, panic or
// runaway, and whether it denied nothing that its own commands had certainly done. A lock is
// blamed for a false answer only if the evidence proves it.
func conduct(_ context.Context, f *Case) Verdict {
	rp, err := f.replay()
	if err != nil {
		return impossible(err)
	}
	findings := rp.falseAnswers()
	if op, broke := brokeDown(f.Ops); broke {
		findings = append(findings, brokenOff(op))
	}
	switch {
	case len(findings) > maxFindings:
		return Verdict{Result: Violated, Findings: findings[len(findings)-maxFindings:],
			Reasons: []account.Fact{{What: account.SomeListed, Count: maxFindings, Of: len(findings)}}}
	case len(findings) > 0:
		return Verdict{Result: Violated, Findings: findings}
	}
	return Verdict{Result: Held}
}

// brokenOff returns the finding about the event by which the code under test ended the trial.
func brokenOff(op history.Op) Finding {
	b := breakdowns[op.F]
	told := Finding{
		Cause: b.cause, From: op.Time, To: op.Time, Ops: []int{op.Index},
		Account: account.Account{Fact: account.Fact{What: b.what, At: op.Time, Text: op.Error}},
	}
	if op.Client >= 0 {
		told.Clients = []int{op.Client}
		told.Account.Clients = told.Clients
	}
	return told
}

// brokeDown returns the first event of a breakdown. After a breakdown, missing events
// prove nothing: the trial gave them no time.
func brokeDown(ops []history.Op) (history.Op, bool) {
	for _, op := range ops {
		if op.EventKind().Breakdown {
			return op, true
		}
	}
	return history.Op{}, false
}
