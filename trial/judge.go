package trial

import (
	"context"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
)

// Judge runs every oracle on a stored history, exactly as a run does. On an incomplete or unvouched
// record, no verdict says that a property holds. On a changed record, nothing is decided: violations
// become doubts too. The functions in more give further verdicts, which come last. Judge
// leaves out the measures: Progress, Waiting and Operations. The error is checker.ErrDisagree; the
// verdicts are valid nevertheless.
func Judge(ctx context.Context, r Record, more ...func(context.Context, history.Evidence) checker.Verdict) (Result, error) {
	var t Result
	var declared []locks.Flaw
	if r.Spec != nil {
		t.Spec = *r.Spec
		if recipe, ok := locks.ByID(t.Spec.Lock); ok {
			declared = recipe.Flaws
		}
	}
	// Do not hash a history that no run recorded: there is no hash to compare, and a long history
	// takes seconds.
	if t.Hash = r.hash; t.Hash == "" && r.Standing != Given {
		t.Hash = history.Hash(r.Evidence)
	}
	t, err := judge(ctx, t, declared, checker.NewCase(r.Evidence))
	for _, ask := range more {
		t.Verdicts = append(t.Verdicts, ask(ctx, r.Evidence))
	}
	doubt(t.Verdicts, r.Missing())
	r.distrust(t.Verdicts)
	t.Weigh(declared)
	return t, err
}

// judge fills in t from the evidence, except its hash and its measures.
func judge(ctx context.Context, t Result, declared []locks.Flaw, asked *checker.Case) (Result, error) {
	e := asked.Evidence
	t.Hits, t.Ops, t.Commands, t.Keys = Hits(t.Spec, e.Ops), len(e.Ops), len(e.Commands), len(e.Keys)
	t.Promised = promiseOf(e.Claims)
	var err error
	if t.Verdicts, err = asked.Judge(ctx); err != nil {
		t.Err = err.Error()
	}
	t.Stall, t.Spoilt = checker.Stalled(e)
	t.Weigh(declared)
	return t, err
}

// measure fills in what no verdict depends on: Progress, Waiting and Operations.
func (t *Result) measure(asked *checker.Case) {
	if p := progress.MeasureCase(asked.Case); p != (progress.Measures{}) {
		t.Progress = &p
	}
	t.Waiting = progress.WaitingAround(asked.Case, t.Spec.countedFault())
	t.Operations = Operations(asked.Evidence)
}

// Hits counts the hits of the fault under test, but not of faults that only prepare for it.
// In a mix, every fault counts.
func Hits(s Spec, ops []history.Op) int {
	if fault := s.countedFault(); fault != "" {
		return nemesis.Hits(ops, fault)
	}
	return nemesis.Hits(ops)
}

// countedFault returns the fault under test, or "" if every fault of the plan counts.
func (s Spec) countedFault() string {
	if nemesis.Mixes(s.Fault) || !slices.Contains(s.Plan.Faults(), s.Fault) {
		return ""
	}
	return s.Fault
}
