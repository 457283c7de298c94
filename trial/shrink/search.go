package shrink

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// errNotShown says that there is nothing to shrink: what was to be kept does not
// show in the spec itself.
var errNotShown = errors.New("the trial does not show the same when it is run again")

// Search looks for a smaller spec for which same still says yes: fewer faults,
// clients and critical sections, fewer nodes, a shorter trial, narrower and
// plainer faults, and times that are rounder and smaller, the seed being what it
// is. In the result, no single one of the edits that the passes know can be made
// any more. It is a pure function of the spec and of what same says; same is asked
// once at most about a spec.
//
// An error comes with the smallest spec that was found by then: it is that of
// same, or says that ctx ended before the search did, with its cause; it is
// errNotShown if same says no to s.
func Search(ctx context.Context, s trial.Spec, same func(context.Context, trial.Spec) (bool, error)) (trial.Spec, error) {
	x := &reduction{same: same, best: copied(s), tried: map[[sha256.Size]byte]bool{}}
	if ok, err := x.try(ctx, x.best); err != nil {
		return s, err
	} else if !ok {
		return s, errNotShown
	}
	if err := x.script(ctx); err != nil {
		return x.best, err
	}
	for stage := 0; stage < len(stages); {
		changed, err := x.exhaust(ctx, stages[stage])
		if err != nil {
			return x.best, err
		}
		if stage++; changed && stage > 1 {
			stage = 0
		}
	}
	return x.best, nil
}

// stages are passes that are gone through until none of them makes anything
// smaller. When a later stage did, all begins again. What cuts the most off a
// trial comes first: what is cheaper to run is quicker to shrink. What fits its
// times closely is hard to cut: they come last.
var stages = [][]pass{
	{
		fewerActions, shorterTrial, fewerSections, fewerClients, plainerOptions, smallerTopology,
		plainerActions, narrowerActions, shallowerSections,
	},
	{jointClients},
	{calmerSections, actionTimes, sectionTimes},
}

// pass lists edits of one kind that may make a spec smaller, the boldest first.
// They are made one after another, each of what those before it left.
type pass func(trial.Spec) []edit

// edit makes a spec, which is nobody else's, smaller in one way; false if it finds
// nothing to be done. An edit never undoes another: each lowers the spec in one
// respect and raises it, if at all, only in what comes later in this order:
// actions, clients, sections, dials, nodes, conditions and targets of actions, how
// round times are, how long.
type edit func(*trial.Spec) bool

// reduction is one Shrink.
type reduction struct {
	same  func(context.Context, trial.Spec) (bool, error)
	best  trial.Spec
	tried map[[sha256.Size]byte]bool
}

// exhaust goes through passes until none of them makes anything smaller.
func (x *reduction) exhaust(ctx context.Context, passes []pass) (changed bool, err error) {
	for again := true; again; {
		again = false
		for _, edits := range passes {
			smaller, err := x.pass(ctx, edits)
			again, changed = again || smaller, changed || smaller
			if err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

// pass makes the edits that leave the same.
func (x *reduction) pass(ctx context.Context, edits pass) (changed bool, err error) {
	for _, edit := range edits(x.best) {
		s := copied(x.best)
		if !edit(&s) {
			continue
		}
		s.Durability = durability(x.best, s.Plan)
		ok, err := x.try(ctx, s)
		if err != nil {
			return changed, err
		}
		if ok {
			x.best, changed = s, true
		}
	}
	return changed, nil
}

// try asks same, but not twice about one spec.
func (x *reduction) try(ctx context.Context, s trial.Spec) (bool, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return false, fmt.Errorf("encode a spec: %w", err)
	}
	key := sha256.Sum256(text)
	if x.tried[key] {
		return false, nil
	}
	x.tried[key] = true
	if ctx.Err() != nil {
		return false, fmt.Errorf("not shrunk to the end: %w", context.Cause(ctx))
	}
	return x.same(ctx, s)
}

// longestScript is how many sections a client may get: beyond that a trial is told
// better by its seed.
const longestScript = 1 << 12

// script writes down what clients decide, so that it can be cut: as many sections
// as they may get to. A trial that is another then is shrunk without.
func (x *reduction) script(ctx context.Context) error {
	if len(x.best.Options.Script) > 0 {
		return nil
	}
	w, ok := workloads.ByName(x.best.Workload)
	if !ok {
		return nil
	}
	for n := mostSections(x.best.Options); n <= longestScript; n *= 2 {
		s := copied(x.best)
		s.Options.Script = scripted(w, s.Options, n)
		if ok, err := x.try(ctx, s); err != nil {
			return err
		} else if ok {
			x.best = s
			return nil
		}
	}
	return nil
}

// mostSections is how many sections a client usually has time for at most.
func mostSections(o workloads.Options) int {
	turn := max((o.Rest+min(o.Hold, o.Retry))/2, o.TTL/100, 1)
	return min(max(int(o.Duration/turn), 1), longestScript)
}

// durability is what the nodes must keep once that is the plan.
func durability(was trial.Spec, p nemesis.Plan) testbed.Durability {
	if was.Plan.Durability() != was.Durability {
		return was.Durability // which no action asked for
	}
	return p.Durability()
}

// copied shares nothing with s.
func copied(s trial.Spec) trial.Spec {
	s.Plan = slices.Clone(s.Plan)
	for i := range s.Plan {
		a := &s.Plan[i]
		a.Nodes, a.Links, a.Others = slices.Clone(a.Nodes), slices.Clone(a.Links), slices.Clone(a.Others)
		for _, t := range triggers(a) {
			if *t != nil {
				c := **t
				c.Clients = slices.Clone(c.Clients)
				*t = &c
			}
		}
	}
	s.Options.Script = slices.Clone(s.Options.Script)
	for c := range s.Options.Script {
		s.Options.Script[c] = slices.Clone(s.Options.Script[c])
	}
	return s
}

// scripted are the first n sections that each client decides on.
func scripted(w workloads.Workload, o workloads.Options, n int) [][]workloads.Section {
	script := make([][]workloads.Section, o.Clients)
	for c := range script {
		for k := range n {
			script[c] = append(script[c], w.Decide(o, c, k))
		}
	}
	return script
}

// triggers are where the action's are, nil or not.
func triggers(a *nemesis.Action) []**nemesis.Trigger {
	return []**nemesis.Trigger{&a.Arm, &a.Point, &a.Until}
}

// chunks are the ranges of n things that it is worth to leave out: all, halves,
// quarters, down to single ones, of each size from the end, so that what is left
// out moves nothing that is still to come.
func chunks(n int) (all [][2]int) {
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; to -= size {
			all = append(all, [2]int{max(0, to-size), to})
		}
	}
	return all
}
