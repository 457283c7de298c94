package checker

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// LinearizableName is the name of Linearizable's verdicts.
const LinearizableName = "linearizable"

// byModel is the oracle behind Linearizable, without its judge.
var byModel = Oracle{Name: LinearizableName, Rank: 2, OfModel: true,
	Doc: "the operations, with their recorded replies, can have happened one after the other on a model"}

// linearLimit bounds the time for the verdict on one history.
const linearLimit = 15 * time.Second

// Linearizable decides whether the operations on each lock, with their recorded replies,
// can have happened one after the other on the model of that name (see linear.ModelNamed
// and linear.Check). An operation takes effect at one instant between its invocation and
// its ok. A failed operation did not happen. An operation of unknown outcome takes effect
// at any time after its invocation, or never. Deadlines, crashes, losses and beliefs are
// ignored.
//
// A violation names a minimal conflict: a set of operations that cannot all have happened,
// whatever other operations happened. Without any one of them, the rest could have
// happened. Without a violation, the result is Unknown if ctx or a time limit on the whole
// verdict ended the search, if too many states were possible at one time, or if the two methods of
// linear.Check disagree. If no minimal conflict of a violation was found in time, Why says so.
func Linearizable(ctx context.Context, model string, e history.Evidence) Verdict {
	o := byModel
	o.judge = agreed(func(ctx context.Context, f *Case) Verdict {
		return linearizable(ctx, model, f, linearLimit)
	})
	v, _ := o.ask(ctx, NewCase(e)) // a judge made by agreed returns no error
	return v
}

func linearizable(ctx context.Context, model string, f *Case, limit time.Duration) Verdict {
	m, ok := linear.ModelNamed(model)
	if !ok {
		return notApplicable(account.Fact{What: account.NoModel, Model: model})
	}
	byLock := answers(f)
	certain := false
	for _, all := range byLock.operations {
		certain = certain || slices.ContainsFunc(all, func(op linear.Operation) bool { return !op.Perhaps })
	}
	if !certain {
		return notApplicable(account.Fact{What: account.NothingCertain})
	}
	var findings []Finding
	var undecided []string
	var why, unheld, alone []account.Fact
	for _, r := range linear.Check(ctx, m, byLock.operations, limit) {
		if r.Alone {
			alone = append(alone, account.Fact{What: account.SweptAlone, Locks: []string{r.Lock}, Count: len(byLock.operations[r.Lock]), Of: linear.MaxOperations})
		}
		switch {
		case r.Doubt == linear.Disagree:
			unheld = append(unheld, account.Fact{What: account.CheckersDisagree, Text: "the sweep and porcupine disagree on " + r.Lock})
		case r.Doubt == linear.TooWide:
			unheld = append(unheld, account.Fact{What: account.TooWide, Locks: []string{r.Lock}})
		case r.Answer == linear.Undecided:
			undecided = append(undecided, r.Lock)
		case r.Answer == linear.Illegal:
			if !r.Conflict.Minimal {
				why = append(why, account.Fact{What: account.NotMinimal, Locks: []string{r.Lock}})
			}
			c := dispute{Conflict: r.Conflict, lock: r.Lock, model: model, operations: byLock.operations[r.Lock], pairs: byLock.pairs[r.Lock]}
			findings = append(findings, c.finding(f))
		}
	}
	if len(undecided) > 0 {
		why = append(why, account.Fact{What: account.NotDecided, Locks: undecided})
	}
	v := Verdict{Result: Held, Findings: findings, Reasons: slices.Concat(why, unheld, alone)}
	switch {
	case len(findings) > 0:
		v.Result = Violated
	case len(undecided)+len(unheld) > 0:
		v.Result = Unknown
	}
	return v
}

// answered holds, by lock, the acquires and releases that did not fail: as operations for the model
// and, in the same order, as their pairs of entries. A pair is not copied, since a history may have
// a million pairs.
type answered struct {
	operations map[string][]linear.Operation
	pairs      map[string][]*history.Pair
}

func answers(f *Case) answered {
	pairs := f.Pairs()
	count := map[string]int{}
	for p := range takingPart(pairs.All) {
		count[p.Invoke.Lock]++
	}
	byLock := answered{map[string][]linear.Operation{}, map[string][]*history.Pair{}}
	for lock, n := range count {
		byLock.operations[lock], byLock.pairs[lock] = make([]linear.Operation, 0, n), make([]*history.Pair, 0, n)
	}
	for p := range takingPart(pairs.All) {
		in := p.Invoke
		op := linear.Operation{
			Client: in.Client, Release: in.F == history.FRelease, Mode: in.Mode, Fence: p.Lease().Fence,
			Call: pairs.Place(in.Index), Reply: -1, Perhaps: p.Done() != history.OK,
		}
		if !op.Perhaps {
			op.Reply = pairs.Place(p.Complete.Index)
		}
		byLock.operations[in.Lock] = append(byLock.operations[in.Lock], op)
		byLock.pairs[in.Lock] = append(byLock.pairs[in.Lock], p)
	}
	return byLock
}

// takingPart yields the clients' acquires and releases that did not fail.
func takingPart(all []history.Pair) iter.Seq[*history.Pair] {
	return func(yield func(*history.Pair) bool) {
		for i := range all {
			p := &all[i]
			in := p.Invoke
			if in.Process == history.Nemesis || in.F != history.FAcquire && in.F != history.FRelease || p.Done() == history.Fail {
				continue
			}
			if !yield(p) {
				return
			}
		}
	}
}

// dispute is a conflict, together with the operations on its lock.
type dispute struct {
	*linear.Conflict
	lock, model string
	operations  []linear.Operation
	pairs       []*history.Pair // by operation
}

// mostSilent is the greatest number of releases without effect that a finding lists.
const mostSilent = 4

// finding returns the finding about the conflict. It also lists the releases without effect
// (see silent), because a reader will ask about them.
func (c dispute) finding(f *Case) Finding {
	last := c.pairs[c.Last]
	found := Finding{
		Cause: Unclassified, Lock: c.lock, Clients: []int{last.Invoke.Client}, From: last.Invoke.Time, To: last.Complete.Time,
	}
	var concerned []account.Operation
	for _, i := range c.Operations {
		p := c.pairs[i]
		found.Ops = append(found.Ops, p.Invoke.Index, p.Complete.Index)
		concerned = append(concerned, operated(p))
		if client := p.Invoke.Client; !slices.Contains(found.Clients, client) {
			found.Clients = append(found.Clients, client)
		}
	}
	for _, p := range c.silent(f) {
		found.Ops = append(found.Ops, p.Invoke.Index)
		if p.Complete != nil {
			found.Ops = append(found.Ops, p.Complete.Index)
		}
		concerned = append(concerned, operated(p))
	}
	found.Ops = indices(found.Ops...)
	found.Account = account.Account{Fact: account.Fact{What: c.how(), Clients: found.Clients, At: found.To, Model: c.model}, Operations: concerned}
	return found
}

// how returns the kind of conflict that the finding reports.
func (c dispute) how() account.What {
	switch {
	case !c.Minimal:
		return account.NoOrderFound
	case c.OwnersOnly:
		return account.NoOwnersOrder
	}
	return account.NoOrder
}

// silent returns the releases before the conflict's end that failed or whose outcome is
// unknown. For each acquire of the conflict, it considers the releases that follow, until
// the acquire's owner acquires again. If c.Anyone is true, every client counts as the owner.
func (c dispute) silent(f *Case) []*history.Pair {
	if !c.Minimal {
		return nil
	}
	pairs := f.Pairs()
	var found []*history.Pair
	again := map[int]bool{} // acquires whose owner has acquired again
	for i := range pairs.All {
		p := &pairs.All[i]
		at := pairs.Place(p.Invoke.Index)
		if at > c.operations[c.Last].Reply || len(found) == mostSilent {
			break
		}
		for _, n := range c.Operations {
			op := c.operations[n]
			concerned := !op.Release && !again[n] && at > op.Call && p.Invoke.Process != history.Nemesis &&
				p.Invoke.Lock == c.lock && (c.Anyone || p.Invoke.Client == op.Client)
			switch {
			case !concerned:
			case p.Invoke.F == history.FAcquire && p.Done() == history.OK:
				again[n] = true
			case p.Invoke.F == history.FRelease && p.Done() != history.OK && !slices.Contains(found, p):
				found = append(found, p)
			}
		}
	}
	return found
}
