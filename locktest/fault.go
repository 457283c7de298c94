package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/remedies"
	"github.com/lockstorm/lockstorm/trial/shrink"
)

// fault tests the lock under a fault. The error is ctx's, or says why the fault's trials could not be
// planned or run.
func (s *session) fault(ctx context.Context, fault string) (FaultResult, error) {
	if s.Replay != "" {
		return s.only(ctx, fault)
	}
	f := FaultResult{Fault: fault}
	end := s.share()
	specs, lack, err := s.plan.Trials(fault)
	if err != nil {
		return f, fmt.Errorf("locktest: %w", err)
	}
	if lack != nil {
		f.NotTested = lack.Words()
		return f, nil
	}
	if err := campaign.MostTelling(specs); err != nil { // the budget may end before the last trial
		return f, fmt.Errorf("locktest: %w", err)
	}
	specs = s.sample(specs)
	done, err := s.run(ctx, specs, false, end)
	if err != nil {
		return f, err
	}
	var trials []trial.Result
	if fault == nemesis.Undisturbed().Name {
		trials = slices.Clone(s.probes)
	}
	for _, d := range done {
		if d == nil {
			f.CutOff++
			continue
		}
		trials = append(trials, d.Trial)
	}
	worst := f.fold(trials)
	if worst == nil {
		return f, nil
	}
	f.Violation, err = s.counterexample(ctx, *worst, f)
	return f, err
}

// sample drops the last three quarters of the named trials if Options.Short is set.
func (s *session) sample(specs []trial.Spec) []trial.Spec {
	if !s.Short {
		return specs
	}
	named := 0
	for _, t := range specs {
		if t.Named() {
			named++
		}
	}
	const part = 4
	kept := 0
	return slices.DeleteFunc(slices.Clone(specs), func(t trial.Spec) bool {
		if t.Named() {
			kept++
		}
		return t.Named() && kept > (named+part-1)/part
	})
}

// fold counts the results of the trials. It returns the worst trial with a flaw for which the lock is
// to blame; nil = there is none.
func (f *FaultResult) fold(trials []trial.Result) *trial.Result {
	f.Trials = len(trials)
	var limits tally
	var worst *trial.Result
	decided := false
	for i, t := range trials {
		decided = decided || t.Decided()
		for _, flaw := range t.Flaws {
			if flaw.Kind == locks.Limit {
				limits.add(flaw, t)
			}
		}
		switch {
		case hasFlaw(t):
			if worst == nil || compareWorst(t, *worst) < 0 {
				worst = &trials[i]
			}
		case t.Err != "":
			f.Errors = append(f.Errors, t.Err)
		case t.Outcome == trial.Unknown:
			f.Undecided++
		}
	}
	f.Limits = limits.sorted()
	switch {
	case f.Trials == 0 || decided:
	case f.Undecided > 0 || len(f.Errors) > 0:
		f.NotTested = "no trial could be decided"
	default:
		f.NotTested = "the fault hit nothing"
	}
	if worst != nil {
		f.Violation = &Violation{Fault: f.Fault, Flaws: flawsOf(trials, *worst)}
	}
	return worst
}

// hasFlaw reports whether the trial shows a violation that is not a limit of any lease.
func hasFlaw(t trial.Result) bool {
	return t.Violation() && slices.ContainsFunc(t.Flaws, func(f trial.Flaw) bool { return f.Kind == "" })
}

// worstFlaw returns the trial's worst flaw for which the lock is to blame.
func worstFlaw(t trial.Result) trial.Flaw {
	i := slices.IndexFunc(t.Flaws, func(f trial.Flaw) bool { return f.Kind == "" })
	return t.Flaws[i]
}

// compareWorst orders trials with a flaw for which the lock is to blame. These criteria decide, in this
// order:
//
//   - the trial's worst such flaw: the trial with the worse flaw comes first;
//   - the number of limits that are worse than that flaw: fewer come first;
//   - the size of the trial: the smaller trial comes first;
//   - the trial's turn, then the name of its workload.
func compareWorst(a, b trial.Result) int {
	hidden := func(t trial.Result) int { return slices.Index(t.Flaws, worstFlaw(t)) }
	return cmp.Or(
		trial.CompareFlaws(worstFlaw(a), worstFlaw(b)), cmp.Compare(hidden(a), hidden(b)),
		cmp.Compare(a.Ops+a.Commands, b.Ops+b.Commands), a.Spec.Turn().Compare(b.Spec.Turn()), cmp.Compare(a.Spec.Workload, b.Spec.Workload),
	)
}

// flawsOf returns the flaws for which the lock is to blame. The worst flaw of the worst trial is
// first.
func flawsOf(trials []trial.Result, worst trial.Result) []Flaw {
	var all tally
	for _, t := range trials {
		for _, f := range t.Flaws {
			if f.Kind == "" {
				all.add(f, t)
			}
		}
	}
	first := worstFlaw(worst)
	flaws := all.sorted()
	i := slices.IndexFunc(flaws, func(f Flaw) bool { return f.Oracle == first.Oracle && f.Cause == first.Cause })
	return slices.Concat(flaws[i:i+1], flaws[:i], flaws[i+1:])
}

// counterexample turns the worst trial under a fault into a violation with its story. If another
// fault's result or a saved trial already tells this flaw, the violation has no story of its own:
// SameAs and Saved say where the story is.
func (s *session) counterexample(ctx context.Context, worst trial.Result, f FaultResult) (*Violation, error) {
	v := f.Violation
	v.Seed, v.Replay, v.spec = s.Seed, replayOf(worst.Spec), worst.Spec
	flaw := worstFlaw(worst)
	v.Title = titleOf(v.Flaws[0])
	if same, ok := s.reportedAs(flaw); ok {
		v.SameAs, v.Saved = same.fault, same.saved
		return v, nil
	}
	s.reported = append(s.reported, reportedFlaw{Flaw: flaw, fault: f.Fault})
	return v, s.minimize(ctx, v, worst)
}

func titleOf(f Flaw) string {
	return fmt.Sprintf("the lock breaks what it promises: %s (%s)", f, checker.Cause(f.Cause).Meaning())
}

// number identifies a trial among the trials of its fault and workload.
func number(s trial.Spec) string { return cmp.Or(s.Schedule, strconv.Itoa(s.Trial)) }

// replayOf names a trial for Options.Replay and -lockstorm.replay.
func replayOf(s trial.Spec) string { return s.Workload + "/" + number(s) }

// minimize shrinks the trial and gives v the story of the smallest trial found. If the trial cannot be
// shrunk, v says why and has the story of the trial itself.
func (s *session) minimize(ctx context.Context, v *Violation, worst trial.Result) error {
	v.folder = filepath.Join(s.dir, "counterexamples", filename(v.Fault))
	began := time.Now()
	budget, cancel := context.WithTimeoutCause(ctx, s.shrink, shrink.BudgetUsed(s.shrink))
	defer cancel()
	t, err := shrink.Run(ctx, budget, 0, s.pool, worst, v.folder)
	s.shrink = max(0, s.shrink-time.Since(began))
	var why shrink.NotShrunk
	switch {
	case err == nil:
		v.Shrunk, v.spec = t.Shrinking.Words(), t.Spec
	case errors.As(err, &why):
		if t, err = s.rerun(ctx, worst.Spec, v.folder); err != nil {
			return err
		}
		v.Shrunk, v.unshrunk = why.Error(), true
		if why == shrink.Varied || t.Hash != worst.Hash {
			v.Shrunk += "; " + varies
		}
		if !hasFlaw(t) || !worstFlaw(t).Same(worstFlaw(worst)) {
			v.unsteady = true
			v.Shrunk += "; not saved, because it did not show the same violation when it ran again"
		}
	default:
		return fmt.Errorf("locktest: %w", err)
	}
	v.Story, err = s.storyOf(ctx, v.folder)
	return err
}

// varies says what to do about a lock whose trials differ when they are run again.
const varies = "the lock does something else each time it runs (math/rand/v2, map order, select): draw from math/rand or an injected source in tests; see docs/determinism.md"

// rerun runs a trial once more and stores its evidence in the folder.
func (s *session) rerun(ctx context.Context, spec trial.Spec, folder string) (trial.Result, error) {
	if err := os.RemoveAll(folder); err != nil {
		return trial.Result{}, fmt.Errorf("locktest: %w", err)
	}
	d, err := s.pool.Run(ctx, trial.Task{Spec: spec, Folder: folder, Keep: true}, nil)
	if err != nil {
		return d.Trial, fmt.Errorf("locktest: %w", err)
	}
	d.Trial.Spec = spec
	return d.Trial, nil
}

// storyWidth is the width of stories in columns.
const storyWidth = 100

// remedyTime is the time for trying remedies.
const remedyTime = 2 * time.Second

// storyOf returns the story of a stored trial. It tries remedies on the first trial that is told, if there is time.
func (s *session) storyOf(ctx context.Context, folder string) (string, error) {
	if s.tries {
		s.tries = false
		budget, cancel := context.WithTimeout(ctx, remedyTime)
		defer cancel()
		if err := remedies.Stored(ctx, budget, s.pool, folder); err != nil {
			return "", fmt.Errorf("locktest: %w", err)
		}
	}
	t, e, err := trial.Load(folder)
	if err != nil {
		return "", fmt.Errorf("locktest: %w", err)
	}
	told := story.Trial{Title: t.Spec.Title(), Verdicts: t.Verdicts, Evidence: e, Remedied: t.Remedied}
	for _, f := range t.Flaws {
		told.Declared = append(told.Declared, locks.Flaw{Oracle: f.Oracle, Cause: f.Cause, Kind: f.Kind})
	}
	focus, ok := story.FocusOn(told)
	if !ok {
		return "", nil
	}
	return story.Tell(focus).Terminal(storyWidth), nil
}
