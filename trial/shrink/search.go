package shrink

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// Search looks for a smaller spec for which the callback same still returns true: fewer faults, clients and
// critical sections, fewer nodes, a shorter trial, narrower and plainer faults, rounder and smaller times.
// The seed stays. The result is minimal: after any further single edit, same returns false. Search is a pure
// function of the spec and of same's answers. It calls same at most once for each spec.
//
// With an error, Search returns the smallest spec found so far. The error is that of same, or ctx's cause
// if ctx ended first, or NotShown if same returns false for s.
func Search(ctx context.Context, s trial.Spec, same func(context.Context, trial.Spec) (bool, error)) (trial.Spec, error) {
	x := &reduction{same: same, best: copied(s), tried: map[[sha256.Size]byte]bool{}}
	if ok, err := x.try(ctx, x.best); err != nil {
		return s, err
	} else if !ok {
		return s, NotShown
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

// stages are groups of passes, each repeated until none of its passes makes progress. If a stage after
// the first made progress, all stages start again. The biggest cuts come first: smaller trials run
// faster. Times come last: a trial whose times fit closely is hard to cut.
var stages = [][]pass{
	{
		fewerActions, shorterTrial, fewerSections, fewerClients, plainerOptions, smallerTopology,
		plainerActions, narrowerActions, shallowerSections,
	},
	{jointClients},
	{calmerSections, actionTimes, sectionTimes},
}

// pass lists edits of one kind, the boldest first. Each edit is tried on the result of the previous
// edits.
type pass func(trial.Spec) []edit

// edit makes a spec smaller in one way; it returns false if there is nothing to change. It may
// change the spec in place. An edit reduces one item of this list and may increase only later
// items: actions, clients, sections, options, nodes, conditions and targets of actions, fineness of
// times (1 ms is finer than 100 ms), lengths of times. So edits do not undo each other. There is one
// exception: ask may lengthen a retry interval. The search ends nevertheless, because it tries no spec twice.
type edit func(*trial.Spec) bool

// reduction is the state of one Search.
type reduction struct {
	same  func(context.Context, trial.Spec) (bool, error)
	best  trial.Spec
	tried map[[sha256.Size]byte]bool
}

// exhaust repeats passes until none makes progress.
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

// pass tries the edits of a pass one by one and keeps each edit after which same returns true.
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

// try reports what same says about a spec. It returns false for a spec that was tried before.
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

// longestScript is the maximum number of sections per client in a script. A trial that needs more
// sections to show its flaw is shrunk without a script.
const longestScript = 1 << 12

// script replaces the clients' random decisions by a script, which can be cut. The script has as
// many sections as clients may have time for; if the scripted trial does not show the flaw, a longer
// script is tried, up to longestScript. If none shows it, shrinking continues without a script.
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

// mostSections estimates the number of sections that a client has time for.
func mostSections(o workloads.Options) int {
	turn := max((o.Rest+min(o.Hold, o.Retry))/2, o.TTL/100, 1)
	return min(max(int(o.Duration/turn), 1), longestScript)
}

// durability returns the durability that the nodes need if an edit replaces was.Plan by p.
func durability(was trial.Spec, p nemesis.Plan) testbed.Durability {
	if was.Plan.Durability() != was.Durability {
		return was.Durability // not due to the plan
	}
	return p.Durability()
}

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

// scripted returns the first n sections that each client decides on.
func scripted(w workloads.Workload, o workloads.Options, n int) [][]workloads.Section {
	script := make([][]workloads.Section, o.Clients)
	for c := range script {
		for k := range n {
			script[c] = append(script[c], w.Decide(o, c, k))
		}
	}
	return script
}

// triggers returns pointers to the action's triggers, nil or not.
func triggers(a *nemesis.Action) []**nemesis.Trigger {
	return []**nemesis.Trigger{&a.Arm, &a.Point, &a.Until}
}

// chunks returns ranges of n things to leave out: all, halves, quarters, down to single things. Of
// each size, the last range comes first, so that removing a range does not shift the ranges still
// to come.
func chunks(n int) (all [][2]int) {
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; to -= size {
			all = append(all, [2]int{max(0, to-size), to})
		}
	}
	return all
}
