package checker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// LinearizableName is the name of Linearizable's verdicts.
const LinearizableName = "linearizable"

const (
	// linearLimit bounds the time for the verdict on one history. Its last third is kept
	// for finding the few operations that show each violation.
	linearLimit = 15 * time.Second
	// mostLinear bounds how many operations on one lock are judged: porcupine's
	// memory grows with their square.
	mostLinear = 20_000
)

// Linearizable decides whether the operations on each lock, as they were
// answered, can have happened one after the other on the model of that name
// (see ModelByName): linearizability, which is how Knossos judges.
// An operation takes effect at one instant between its invocation and its ok. One
// that failed did not happen. One of unknown outcome takes effect at any time
// from its invocation on, or never. Nothing else counts: no deadline, no crash,
// no loss, and no belief.
//
// A violation names a minimal conflict: operations that cannot all have happened,
// whichever of the others did; without any one of them, the rest could have. What
// could not be decided in time, by ctx or by a bound of its own on the whole
// verdict, is unknown; of a violation of which no minimal conflict was found in
// time, Why says so.
func Linearizable(ctx context.Context, model string, e history.Evidence) Verdict {
	o := oracle{name: LinearizableName, judge: agreed(func(ctx context.Context, f *caseFile) Verdict {
		return linearizable(ctx, model, f, endOf(ctx, linearLimit))
	})}
	v, _ := o.ask(ctx, newCaseFile(e)) // it cannot disagree with itself
	return v
}

// endOf is when that long is over, or ctx.
func endOf(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

func linearizable(ctx context.Context, model string, f *caseFile, end time.Time) Verdict {
	r, ok := rulesByName(model)
	if !ok {
		return notApplicable(Fact{What: NoModel, Model: model})
	}
	byLock, err := recordings(f, r)
	if err != nil {
		return impossible(err)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(byLock)), happened) {
		return notApplicable(Fact{What: NothingCertain})
	}
	decide := search{ctx: ctx, rules: r, end: end.Add(-time.Until(end) / 3)}
	var findings []Finding
	var violated, undecided []string
	var why, unheld []Fact
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		if all := byLock[lock]; len(all) > mostLinear {
			unheld = append(unheld, Fact{What: TooManyOperations, Locks: []string{lock}, Count: len(all), Of: mostLinear})
			continue
		}
		switch decide.decide(byLock[lock]) {
		case porcupine.Unknown:
			undecided = append(undecided, lock)
		case porcupine.Illegal:
			violated = append(violated, lock)
		}
	}
	for i, lock := range violated {
		share := time.Until(end) / time.Duration(len(violated)-i)
		c := search{ctx: ctx, rules: r, end: time.Now().Add(share)}.conflict(byLock[lock])
		if !c.minimal {
			why = append(why, Fact{What: NotMinimal, Locks: []string{lock}})
		}
		findings = append(findings, c.finding(f, r, model, lock))
	}
	if len(undecided) > 0 {
		why = append(why, Fact{What: NotDecided, Locks: undecided})
	}
	v := Verdict{Result: Held, Findings: findings, Reasons: append(why, unheld...)}
	switch {
	case len(findings) > 0:
		v.Result = Violated
	case len(undecided)+len(unheld) > 0:
		v.Result = Unknown
	}
	return v
}

func happened(all []recording) bool {
	return slices.ContainsFunc(all, func(op recording) bool { return !op.perhaps })
}

// rulesByName finds the rules of a model, as ModelByName its claims.
func rulesByName(name string) (*rules, bool) {
	claims, ok := ModelByName(name)
	base, _, _ := strings.Cut(name, ":")
	for _, b := range blueprints() {
		if ok && b.Name == base {
			return b.rules(claims.Permits), true
		}
	}
	return nil, false
}

// recording is an acquire or a release that did not fail.
type recording struct {
	stride
	pair *history.Pair
	// call and reply are where its entries stand in the history: their order is
	// the order in time. What perhaps happened has no reply.
	call, reply int
}

// recordings reads the operations on each lock, in order of invocation.
func recordings(f *caseFile, r *rules) (map[string][]recording, error) {
	pairs, err := f.pairs()
	if err != nil {
		return nil, err
	}
	byLock := map[string][]recording{}
	took := map[errand]history.Mode{} // how a client last acquired a lock
	for i := range pairs.all {
		p := &pairs.all[i]
		in := p.Invoke
		if in.Process == history.Nemesis || in.F != history.FAcquire && in.F != history.FRelease || p.Done() == history.Fail {
			continue
		}
		op := recording{pair: p, call: pairs.place(in.Index), reply: -1}
		op.perhaps = p.Done() != history.OK
		if !op.perhaps {
			op.reply = pairs.place(p.Complete.Index)
		}
		op.action = action{release: in.F == history.FRelease}
		if !r.anyone {
			op.owner = in.Client
		}
		at := errand{client: in.Client, lock: in.Lock}
		if r.modes {
			if op.mode = in.Mode; op.mode == "" && op.release {
				op.mode = took[at]
			}
			if op.mode != history.Read {
				op.mode = history.Write
			}
		}
		if !op.release {
			took[at] = op.mode
			if r.greatest != nil {
				op.fence = leaseOf(p).Fence
			}
		}
		byLock[in.Lock] = append(byLock[in.Lock], op.asModelled(r))
	}
	return byLock, nil
}

// asModelled replaces a fence that nobody learnt, of an acquire that may have happened, by
// anyFence.
func (op recording) asModelled(r *rules) recording {
	if op.perhaps && !op.release && r.greatest != nil && op.fence == 0 {
		op.fence = anyFence
	}
	return op
}

// search asks porcupine, as long as there is time.
type search struct {
	ctx   context.Context
	rules *rules
	end   time.Time
	first []any // what the lock may be before all; nil: as it is made
}

// decide asks first whether stricter rules allow the operations.
func (s search) decide(all []recording) porcupine.CheckResult {
	if r := s.rules.stricter; r != nil && s.first == nil {
		strict := search{ctx: s.ctx, rules: r, end: time.Now().Add(time.Until(s.end) / 2)}
		if strict.ask(owning(all)) == porcupine.Ok {
			return porcupine.Ok
		}
	}
	return s.ask(all)
}

// owning gives operations their owners back.
func owning(all []recording) []recording {
	all = slices.Clone(all)
	for i := range all {
		all[i].owner = all[i].pair.Invoke.Client
	}
	return all
}

func (s search) inTime() bool { return s.ctx.Err() == nil && time.Now().Before(s.end) }

func (s search) ask(all []recording) porcupine.CheckResult {
	left := time.Until(s.end)
	if !s.inTime() {
		return porcupine.Unknown
	}
	ops := make([]porcupine.Operation, len(all))
	for i, op := range all {
		ops[i] = porcupine.Operation{ClientId: op.pair.Invoke.Client, Input: op.stride, Call: int64(op.call), Return: int64(op.reply)}
		if op.perhaps {
			ops[i].Return = ops[i].Call
		}
	}
	first := s.first
	if first == nil {
		first = []any{s.rules.init}
	}
	result := porcupine.CheckOperationsTimeout(s.stoppable(s.rules.model(first)), ops, left)
	if result == porcupine.Illegal && s.ctx.Err() != nil {
		return porcupine.Unknown
	}
	return result
}

// stoppable is the model, in which nothing is legal once ctx has ended: porcupine
// can be stopped in no other way, and is through at once then.
func (s search) stoppable(m porcupine.Model) porcupine.Model {
	step := m.Step
	m.Step = func(state, input, output any) (bool, any) {
		if s.ctx.Err() != nil {
			return false, state
		}
		return step(state, input, output)
	}
	return m
}
