// Package remedies tries remedies on minimal trials: it repeats a trial with a remedy in force (package
// testbed/remedy) and looks whether the violation is gone.
package remedies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/trial"
)

// Runner runs trials. A worker.Pool is one.
type Runner interface {
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
}

// Stored tries all remedies on the minimal trial that is stored in a folder, and stores their effects with it.
// It does nothing if there is no such trial.
func Stored(ctx context.Context, on Runner, folder string) error {
	minimal, e, err := trial.Load(folder)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(minimal.Flaws) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("try remedies: %w", err)
	}
	r, err := Try(ctx, on, minimal, e, folder+".remedied")
	if err != nil {
		return err
	}
	return trial.SetRemedied(folder, r)
}

// Try tries all remedies on a trial that repeats, with this evidence: each alone and, if none is enough, two together.
// A remedy has an effect only if
//
//   - it acts, and up to then nothing differs from the trial;
//   - the fault still hits something, unless the remedy stops the fault;
//   - no oracle that it satisfies is violated in any variation of the trial (variations).
//
// It runs trials in the folder scratch, and removes that folder.
func Try(ctx context.Context, on Runner, t trial.Result, e history.Evidence, scratch string) (r trial.Remedied, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	y := &trying{ctx: ctx, on: on, trial: t, evidence: e, scratch: scratch}
	specs, shown := y.variations()
	r.Variations, r.Shown, y.varied = len(specs), shown, specs
	var acted []string
	for _, m := range remedy.All() {
		tried, acts := y.try(m.Name)
		if acts && (tried == nil || !tried.Enough()) && !m.Rarer {
			acted = append(acted, m.Name)
		}
		if tried != nil {
			r.Tried = append(r.Tried, *tried)
		}
	}
	r.Tried = append(r.Tried, y.checksOfTokens(r.Tried)...)
	if !slices.ContainsFunc(r.Tried, func(x trial.Tried) bool { return worth(x) == 0 }) {
		r.Tried = append(r.Tried, y.pairs(acted)...)
	}
	slices.SortStableFunc(r.Tried, func(a, b trial.Tried) int {
		return cmp.Or(cmp.Compare(worth(a), worth(b)), cmp.Compare(len(b.Gone), len(a.Gone)))
	})
	return r, y.err
}

// worth orders effects: those that are enough come first, and among them those of real measures.
func worth(t trial.Tried) int {
	switch {
	case !t.Enough():
		return 2
	case slices.ContainsFunc(t.Remedies, func(name string) bool { m, _ := remedy.Named(name); return m.Rarer }):
		return 1
	}
	return 0
}

// trying tries remedies on one trial.
type trying struct {
	ctx      context.Context
	on       Runner
	trial    trial.Result
	evidence history.Evidence
	varied   []trial.Spec
	scratch  string
	err      error // the first failure of the harness
}

// run runs a trial with remedies in force. ok is false if it proves nothing.
func (y *trying) run(s trial.Spec, keep bool, names ...string) (t trial.Result, ok bool) {
	if y.err = cmp.Or(y.err, y.ctx.Err()); y.err != nil {
		return t, false
	}
	s.Remedies = names
	d, err := y.on.Run(y.ctx, trial.Task{Spec: s, Folder: y.scratch, Keep: keep, Drop: !keep}, nil)
	if err != nil {
		y.err = fmt.Errorf("try remedies: %w", err)
		return t, false
	}
	return d.Trial, d.Trial.Err == "" && !d.Stalled && d.Trial.Outcome != trial.Unknown
}

// mostPairs is the maximum of pairs that are told.
const mostPairs = 2

// checksOfTokens tries a unique token together with each owner check that has no effect alone: without it, a check may
// compare equal values. It leaves out what the token does alone.
func (y *trying) checksOfTokens(alone []trial.Tried) (all []trial.Tried) {
	for _, check := range []string{remedy.OwnRelease, remedy.OwnRenewal} {
		if slices.ContainsFunc(alone, func(x trial.Tried) bool { return x.Name() == check }) {
			continue
		}
		tried, _ := y.try(check, remedy.UniqueToken)
		if tried != nil && !slices.ContainsFunc(alone, func(x trial.Tried) bool { return x.Name() == remedy.UniqueToken && covers(x, *tried) }) {
			all = append(all, *tried)
		}
	}
	return all
}

// covers reports whether what is gone with b is also gone with a.
func covers(a, b trial.Tried) bool {
	return !slices.ContainsFunc(b.Gone, func(oracle string) bool { return !slices.Contains(a.Gone, oracle) })
}

// pairs tries two remedies together, of those that act alone. It returns pairs that are enough.
func (y *trying) pairs(acted []string) (all []trial.Tried) {
	for i, a := range acted {
		for _, b := range acted[:i] {
			names := []string{a, b}
			remedy.Sort(names)
			tried, _ := y.try(names...)
			if tried != nil && tried.Enough() && len(all) < mostPairs {
				all = append(all, *tried)
			}
		}
	}
	return all
}

// try tries remedies together; tried is nil if they have no effect.
func (y *trying) try(names ...string) (tried *trial.Tried, acts bool) {
	t, ok := y.run(y.trial.Spec, false, names...)
	if !ok || t.Acted == nil || t.Acted.Times == 0 {
		return nil, false
	}
	effect := y.effect(t)
	effect.Remedies = names
	if len(effect.Gone) == 0 || !t.Exercised() && y.trial.Exercised() && !slices.ContainsFunc(names, stops) || !y.sameBefore(names) {
		return nil, true
	}
	for _, s := range y.varied {
		varied, ok := y.run(s, false, names...)
		if !ok {
			return nil, true
		}
		for _, f := range varied.Flaws {
			if i := slices.Index(effect.Gone, f.Oracle); i >= 0 {
				effect.Gone = slices.Delete(effect.Gone, i, i+1)
				effect.Left = append(effect.Left, f)
			}
		}
	}
	if len(effect.Gone) == 0 {
		return nil, true
	}
	return &effect, true
}

func stops(name string) bool {
	m, _ := remedy.Named(name)
	return m.Stops
}

// effect compares the flaws of a treated trial with those of the trial.
func (y *trying) effect(treated trial.Result) (effect trial.Tried) {
	for _, f := range y.trial.Flaws {
		if !slices.ContainsFunc(treated.Flaws, ofOracle(f.Oracle)) && !slices.Contains(effect.Gone, f.Oracle) {
			effect.Gone = append(effect.Gone, f.Oracle)
		}
	}
	for _, f := range treated.Flaws {
		if slices.ContainsFunc(y.trial.Flaws, ofOracle(f.Oracle)) {
			effect.Left = append(effect.Left, f)
		} else {
			effect.Instead = append(effect.Instead, f)
		}
	}
	return effect
}

func ofOracle(name string) func(trial.Flaw) bool {
	return func(f trial.Flaw) bool { return f.Oracle == name }
}

// sameBefore reports whether the treated trial is the same as the trial until a remedy first acts.
func (y *trying) sameBefore(names []string) bool {
	t, ok := y.run(y.trial.Spec, true, names...)
	if !ok {
		return false
	}
	record, err := trial.LoadRecord(y.scratch)
	if err != nil {
		y.err = cmp.Or(y.err, err)
		return false
	}
	before := func(e history.Evidence) (seen []string) {
		for _, o := range e.Ops {
			if o.Time < t.Acted.First {
				seen = append(seen, fmt.Sprint(o.Time, o.Process, o.F, o.Type, o.Lock, o.Value))
			}
		}
		for _, c := range e.Commands {
			if c.Sent < t.Acted.First {
				seen = append(seen, fmt.Sprint(c.Sent, c.Client, c.Node, c.Conn, c.Args))
			}
		}
		return seen
	}
	return slices.Equal(before(y.evidence), before(record.Evidence))
}
