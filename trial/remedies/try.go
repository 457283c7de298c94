// Package remedies tries remedies on minimal trials: it repeats a trial with a remedy in force (package
// testbed/remedy) and looks whether the violation is gone.
package remedies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/trial"
)

// Runner runs trials. A worker.Pool is one.
type Runner interface {
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
}

// Stored tries all remedies on the trial that is stored in a folder, and stores their effects with it. It does nothing
// if there is no such trial, or if the trial has no flaws. After the end of budget it begins
// no trial, and stores what is known.
func Stored(ctx, budget context.Context, on Runner, folder string) error {
	t, e, err := trial.Load(folder)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(t.Flaws) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("try remedies: %w", err)
	}
	r, err := Try(ctx, budget, on, t, e, filepath.Clean(folder)+".remedied")
	if err != nil {
		return err
	}
	return trial.SetRemedied(folder, r)
}

// Try tries all remedies on a trial that repeats and has flaws, with this evidence: each alone and, if none is enough,
// two together. A remedy has an effect only if
//
//   - it acts, and up to then nothing differs from the trial;
//   - the fault still hits something, unless the remedy stops the fault;
//   - no violation that is gone is back in any variation of the trial (variations).
//
// It runs trials in the folder scratch, and removes that folder. After the end of budget it begins no trial; the
// remedies that it did not try are among r.Others.
func Try(ctx, budget context.Context, on Runner, t trial.Result, e history.Evidence, scratch string) (r remedy.Effects, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	y := newTrying(ctx, budget, on, t, e, scratch)
	r.Variations, r.Shown, r.Others = len(y.varied), y.shown, map[string]remedy.Why{}
	var acted []string
	all := remedy.All()
	tries := y.each(len(all), func(i int) []string { return []string{all[i].Name} })
	for i, m := range all {
		tried, why := tries[i].Effect, tries[i].why
		if why != remedy.Idle && !m.Rarer && (why != "" || !tried.Enough()) {
			acted = append(acted, m.Name)
		}
		if why == "" {
			r.Tried = append(r.Tried, tried)
		} else if why != remedy.Idle {
			r.Others[m.Name] = why
		}
	}
	r.Tried = append(r.Tried, y.checksOfTokens(r.Tried)...)
	if !slices.ContainsFunc(r.Tried, func(x remedy.Effect) bool { return worth(x) == 0 }) {
		r.Tried = append(r.Tried, y.pairs(acted)...)
	}
	slices.SortStableFunc(r.Tried, func(a, b remedy.Effect) int {
		return cmp.Or(cmp.Compare(worth(a), worth(b)), cmp.Compare(len(b.Gone), len(a.Gone)))
	})
	return r, y.err
}

// TryThese tries these remedies together, as Try does. why is "" if they have an effect.
func TryThese(ctx context.Context, on Runner, t trial.Result, e history.Evidence, scratch string, names ...string) (x remedy.Effect, why remedy.Why, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	y := newTrying(ctx, ctx, on, t, e, scratch)
	x, why = y.try(names...)
	return x, why, y.err
}

// worth orders effects: those that are enough come first, and among them those of real measures.
func worth(x remedy.Effect) int {
	switch {
	case !x.Enough():
		return 2
	case !x.Real():
		return 1
	}
	return 0
}

// trying tries remedies on one trial.
type trying struct {
	ctx      context.Context
	budget   context.Context // a trial that has begun does not end with it: killing its process would take longer
	on       Runner
	trial    trial.Result
	evidence history.Evidence
	varied   []trial.Spec
	shown    int // how many of varied show the violation without a remedy
	scratch  string

	mu  sync.Mutex
	err error // the first failure of the harness
}

// fail notes a failure of the harness, if err is one, and reports whether there is any.
func (y *trying) fail(err error) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.err = cmp.Or(y.err, err)
	return y.err != nil
}

func newTrying(ctx, budget context.Context, on Runner, t trial.Result, e history.Evidence, scratch string) *trying {
	y := &trying{ctx: ctx, budget: budget, on: on, trial: t, evidence: e, scratch: scratch}
	y.varied, y.shown = y.variations()
	return y
}

// run runs a trial with remedies in force. ok is false if it could not be run or judged.
func (y *trying) run(s trial.Spec, keep bool, names ...string) (t trial.Result, ok bool) {
	if y.fail(y.ctx.Err()) || y.budget.Err() != nil {
		return t, false
	}
	s.Remedies = names
	d, err := y.on.Run(y.ctx, trial.Task{Spec: s, Folder: y.folder(names), Keep: keep, Drop: !keep}, nil)
	if err != nil {
		y.fail(fmt.Errorf("try remedies: %w", err))
		return t, false
	}
	return d.Trial, d.Trial.Err == "" && !d.Stalled
}

// folder returns the folder of a trial with remedies in force.
func (y *trying) folder(names []string) string {
	return filepath.Join(y.scratch, strings.Join(names, "+"))
}

// mostPairs is the maximum of pairs that are told.
const mostPairs = 2

// checksOfTokens tries a unique token together with each owner check that has no effect alone: without it, a check may
// compare equal values. It leaves out what the token does alone.
func (y *trying) checksOfTokens(alone []remedy.Effect) (all []remedy.Effect) {
	for _, check := range []string{remedy.OwnRelease, remedy.OwnRenewal} {
		if slices.ContainsFunc(alone, func(x remedy.Effect) bool { return x.Name() == check }) {
			continue
		}
		tried, why := y.try(check, remedy.UniqueToken)
		if why == "" && !slices.ContainsFunc(alone, func(x remedy.Effect) bool { return x.Name() == remedy.UniqueToken && covers(x, tried) }) {
			all = append(all, tried)
		}
	}
	return all
}

// covers reports whether what is gone with b is also gone with a.
func covers(a, b remedy.Effect) bool {
	return !slices.ContainsFunc(b.Gone, func(violation string) bool { return !slices.Contains(a.Gone, violation) })
}

// pairs tries two remedies together, of those that act alone. It returns pairs that are enough.
func (y *trying) pairs(acted []string) (all []remedy.Effect) {
	var pairs [][]string
	for i, a := range acted {
		for _, b := range acted[:i] {
			pairs = append(pairs, []string{a, b})
			remedy.Sort(pairs[len(pairs)-1])
		}
	}
	for _, x := range y.each(len(pairs), func(i int) []string { return pairs[i] }) {
		if x.why == "" && x.Enough() && len(all) < mostPairs {
			all = append(all, x.Effect)
		}
	}
	return all
}

// outcome is what try returns.
type outcome struct {
	remedy.Effect
	why remedy.Why
}

// each tries sets of remedies at the same time, as many as the runner can.
func (y *trying) each(n int, names func(int) []string) []outcome {
	all := make([]outcome, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { all[i].Effect, all[i].why = y.try(names(i)...) })
	}
	running.Wait()
	return all
}

// try tries remedies together. why is "" if they have an effect.
func (y *trying) try(names ...string) (x remedy.Effect, why remedy.Why) {
	x.Remedies = names
	defer func() {
		if y.budget.Err() != nil && why == remedy.Undecided {
			why = remedy.NoTime
		}
	}()
	t, ok := y.run(y.trial.Spec, true, names...)
	switch {
	case !ok:
		return x, remedy.Undecided
	case t.Acted == nil || t.Acted.Times == 0:
		return x, remedy.Idle
	}
	y.compare(&x, t)
	switch {
	case len(x.Gone)+len(x.Undecided) == 0:
		return x, remedy.InVain
	case !t.Exercised() && y.trial.Exercised() && !slices.ContainsFunc(names, stops):
		return x, remedy.Missed
	case !y.sameBefore(names, *t.Acted):
		return x, remedy.Differs
	}
	for _, s := range y.varied {
		if len(x.Gone) == 0 {
			break
		}
		varied, ok := y.run(s, false, names...)
		if !ok {
			return x, remedy.Undecided
		}
		y.recheck(&x, varied)
	}
	switch {
	case len(x.Gone) > 0:
		return x, ""
	case len(x.Undecided) > 0:
		return x, remedy.Undecided
	}
	return x, remedy.InVain
}

func stops(name string) bool {
	m, _ := remedy.Named(name)
	return m.Stops
}

// compare fills in what a treated trial shows.
func (y *trying) compare(x *remedy.Effect, treated trial.Result) {
	before, now := violations(y.trial), violations(treated)
	for _, v := range before {
		switch {
		case slices.ContainsFunc(now, v.persists):
			x.Left = append(x.Left, v.name())
		case !undecided(treated, v.Oracle):
			x.Gone = append(x.Gone, v.name())
		}
	}
	for _, v := range now {
		if !slices.ContainsFunc(before, func(b violation) bool { return b.Oracle == v.Oracle && b.Forever == v.Forever }) {
			x.Instead = append(x.Instead, v.text())
		}
	}
	for _, v := range treated.Verdicts {
		if v.Result == checker.Unknown && !undecided(y.trial, v.Oracle) {
			x.Undecided = append(x.Undecided, v.Oracle)
		}
	}
}

// recheck takes back what is not gone in a treated variation.
func (y *trying) recheck(x *remedy.Effect, varied trial.Result) {
	now := violations(varied)
	x.Gone = slices.DeleteFunc(x.Gone, func(name string) bool {
		i := slices.IndexFunc(violations(y.trial), func(v violation) bool { return v.name() == name })
		v := violations(y.trial)[i]
		switch {
		case slices.ContainsFunc(now, v.persists):
			x.Left = append(x.Left, name)
		case !undecided(varied, v.Oracle):
			return false
		case !slices.Contains(x.Undecided, v.Oracle):
			x.Undecided = append(x.Undecided, v.Oracle)
		}
		return true
	})
}

// violation is what one oracle finds in a trial: its worst flaw.
type violation trial.Flaw

// violations returns a violation for each violated oracle.
func violations(t trial.Result) (all []violation) {
	for _, f := range t.Flaws {
		i := slices.IndexFunc(all, func(v violation) bool { return v.Oracle == f.Oracle })
		if i < 0 {
			all = append(all, violation(f))
		} else if f.Forever && !all[i].Forever {
			all[i] = violation(f)
		}
	}
	return all
}

// persists reports whether a violation of a treated trial is at least as bad.
func (v violation) persists(now violation) bool {
	return now.Oracle == v.Oracle && (now.Forever || !v.Forever)
}

func (v violation) name() string {
	if v.Forever {
		return v.Oracle + " for ever"
	}
	return v.Oracle
}

func (v violation) text() string {
	text := v.Oracle + " by " + v.Cause
	if v.Forever {
		text += ", for ever"
	}
	return text
}

// undecided reports whether an oracle allows no verdict.
func undecided(t trial.Result, oracle string) bool {
	return slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool { return v.Oracle == oracle && v.Result == checker.Unknown })
}

// sameBefore reports whether the treated trial, which is stored, is the same as the trial until a remedy
// first acted.
func (y *trying) sameBefore(names []string, acted remedy.Acted) bool {
	record, err := trial.LoadRecord(y.folder(names))
	if y.fail(err) {
		return false
	}
	before := func(e history.Evidence) (seen []string) {
		for _, o := range e.Ops {
			if o.Time < acted.First {
				seen = append(seen, fmt.Sprint(o.Time, o.Process, o.F, o.Type, o.Lock, o.Value))
			}
		}
		for _, c := range e.Commands {
			if c.Sent < acted.First {
				seen = append(seen, fmt.Sprint(c.Sent, c.Client, c.Node, c.Conn, c.Args))
			}
		}
		return seen
	}
	return slices.Equal(before(y.evidence), before(record.Evidence))
}
