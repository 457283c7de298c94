package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// Result is the outcome of testing a lock.
type Result struct {
	// Faults has the results under each fault, in a fixed order.
	Faults []FaultResult
	// Trials is the number of trials that ran under the faults. It does not count the trials for
	// shrinking, nor the trials that find out the lock's features.
	Trials int
	// Elapsed is the real time that the test took.
	Elapsed time.Duration
	// Hints suggest options that fit the observed behaviour of the lock.
	Hints []string
}

// Err returns nil if the lock has only the limits of any lease. Otherwise the error tells each
// violation, and each fault with a trial that could not be run or judged. NotTested, CutOff and
// Undecided are no errors, with two exceptions: the budget left no time for a trial under any
// fault, or trials ran and none was decided.
func (r *Result) Err() error {
	var parts []string
	for _, f := range r.Faults {
		if text := f.failure(); text != "" {
			parts = append(parts, f.Fault+": "+text)
		}
	}
	if lack, fails, _ := r.untested(); fails {
		parts = append(parts, lack)
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "\n\n"))
}

// untested returns why no trial was run and decided under any fault. The lack is "", and the other
// results are false, if some trial was decided or could not be judged, or if there are no faults. The
// fault-free trials do not count if another fault can strike the lock. byBudget is true if the budget
// left no time for the trials of some fault. fails reports whether the lack fails the test. The lack
// fails the test in two cases:
//
//   - byBudget is true.
//   - Trials ran and none was decided. There is one exception: the fault-free trials were decided, and
//     in all other trials the fault hit nothing.
func (r *Result) untested() (lack string, fails, byBudget bool) {
	var why, open []string
	decided := false
	for _, f := range r.Faults {
		undisturbed := f.Fault == nemesis.Undisturbed().Name
		switch {
		case f.Violation != nil, len(f.Errors) > 0, f.decided() && (!undisturbed || len(r.Faults) == 1):
			return "", false, false
		case f.decided():
			decided = true
		case f.Trials > 0:
			open = append(open, fmt.Sprintf("%s: %s (%d)", f.Fault, f.NotTested, f.Trials))
		case f.CutOff > 0:
			fails = true
		case f.NotTested != "":
			why = append(why, f.Fault+": "+f.NotTested)
		}
	}
	switch {
	case fails && len(open) > 0:
		return "nothing was tested: no trial was decided under any fault: " + strings.Join(open, "; ") +
			"; the budget left no time for a trial under the other faults (option Budget)", true, true
	case fails:
		return "nothing was tested: the budget left no time for a trial under any fault (option Budget)", true, true
	case len(open) > 0:
		return "nothing was tested: no trial was decided under any fault: " + strings.Join(open, "; "), !decided || slices.ContainsFunc(r.Faults, func(f FaultResult) bool { return f.Undecided > 0 }), false
	case decided || len(why) == 0:
		return "", false, false
	}
	return "nothing was tested: " + strings.Join(why, "; "), false, false
}

// FaultResult is the lock's result under one fault.
type FaultResult struct {
	Fault string
	// Trials is the number of trials that were run, decided or not.
	Trials int
	// Violation shows the worst flaw for which the lock is to blame; nil = there is none.
	Violation *Violation
	// Limits are violations that no lease with the features of this lock can prevent by itself.
	Limits []Flaw
	// Undecided is the number of trials whose evidence allows no verdict.
	Undecided int
	// Errors say why trials could not be run or judged.
	Errors []string
	// NotTested says why the fault cannot strike, or why no trial was decided; "" = the fault was
	// tested, or the budget left no time for any trial (CutOff).
	NotTested string
	// CutOff is the number of planned trials for which the budget left no time.
	CutOff int
}

// decided reports whether some trial was decided: the lock held, or a violation showed.
func (f FaultResult) decided() bool { return f.Trials > 0 && f.NotTested == "" }

// Flaw is one way in which a property of the lock was violated.
type Flaw struct {
	Oracle string // the property: "exclusion", "liveness", …; docs/faults.md describes them
	Cause  string // why it was violated: "foreign-delete", "lease-outlived", …
	// Forever: nobody could ever have acquired the lock again.
	Forever bool
	Trials  int // number of trials that showed the flaw
	// Replay names the smallest trial that showed the flaw, for Options.Replay and
	// -lockstorm.replay.
	Replay   string
	smallest *trial.Result // that trial
}

// String returns the flaw as "exclusion by foreign-delete".
func (f Flaw) String() string {
	text := f.Oracle + " by " + f.Cause
	if f.Forever {
		text += ", for ever"
	}
	return text
}

// Violation is a counterexample: the smallest trial found in which the lock broke a promise.
type Violation struct {
	Fault string
	// Flaws are all flaws of the lock that trials under the fault showed: the worst one, then the
	// others, the most frequent first. Story is about the worst flaw.
	Flaws []Flaw
	// Story tells the trial in numbered steps, then the broken assumption, then what would have
	// prevented the violation. Title sums the story up.
	Title, Story string
	// SameAs names the fault whose result already tells the story of this flaw. Saved is the file
	// of that fault's trial, if an earlier run saved it. A violation with SameAs is not shrunk.
	SameAs, Saved string
	// Shrunk says how much smaller the trial became, or why it did not become smaller.
	Shrunk string
	// Seed and Replay name the trial before shrinking, for -lockstorm.seed and -lockstorm.replay.
	Seed   uint64
	Replay string
	spec   trial.Spec // the spec of the trial that Story tells
	folder string     // the folder of that trial's evidence; close removes it
	// unshrunk: Shrunk says why the trial did not become smaller.
	unshrunk bool
	// unsteady: the trial did not show the same flaw when it was run again.
	unsteady bool
}

// failure returns why the fault's test fails; "" = it does not fail.
func (f FaultResult) failure() string {
	var parts []string
	if f.Violation != nil {
		parts = append(parts, f.Violation.String())
	}
	if len(f.Errors) > 0 {
		parts = append(parts, fmt.Sprintf("%d %s could not be judged, for one: %s", len(f.Errors), wording.Plural(len(f.Errors), "trial"), f.Errors[0]))
	}
	return strings.Join(parts, "\n")
}

// String describes the violation in several lines, or in one line if SameAs is set.
func (v *Violation) String() string {
	if v.SameAs != "" {
		return v.sameAsLine()
	}
	var b strings.Builder
	b.WriteString(v.Title)
	for i, f := range v.Flaws {
		fmt.Fprintf(&b, "\n  %s, in %d %s", f, f.Trials, wording.Plural(f.Trials, "trial"))
		if i == 0 {
			b.WriteString(": the worst")
		}
	}
	b.WriteString("\n")
	switch {
	case v.unshrunk:
		fmt.Fprintf(&b, "a trial that shows it (%s):\n", v.Shrunk)
	case v.Shrunk != "":
		fmt.Fprintf(&b, "the smallest trial that shows it (%s):\n", v.Shrunk)
	}
	b.WriteString("\n" + v.Story)
	return b.String()
}

// sameAsLine describes, in one line, a violation whose story another fault's result tells.
func (v *Violation) sameAsLine() string {
	text := fmt.Sprintf("%s, in %d %s: the same as under %s", v.Flaws[0], v.Flaws[0].Trials, wording.Plural(v.Flaws[0].Trials, "trial"), v.SameAs)
	if v.Saved != "" {
		text += ", whose trial is saved in " + v.Saved
	} else {
		text += ", which tells it"
	}
	for i, f := range v.Flaws[1:] {
		text += []string{"; also ", ", "}[min(i, 1)] + fmt.Sprintf("%s (%d)", f, f.Trials)
	}
	return text + fmt.Sprintf("; -lockstorm.seed=%d -lockstorm.replay=%s", v.Seed, v.Replay)
}

// Summary returns the fault's result in one line.
func (f FaultResult) Summary() string {
	parts := []string{fmt.Sprintf("%d %s", f.Trials, wording.Plural(f.Trials, "trial"))}
	switch {
	case f.Violation != nil:
		parts = append(parts, "violated: "+f.Violation.Flaws[0].String())
	case f.NotTested != "":
		parts = append(parts, "not tested: "+f.NotTested)
	}
	if len(f.Limits) > 0 {
		var limits []string
		for _, l := range f.Limits {
			limits = append(limits, fmt.Sprintf("%s (%d)", l, l.Trials))
		}
		parts = append(parts, "limits of any lease: "+strings.Join(limits, ", "))
	}
	if f.Undecided > 0 {
		parts = append(parts, fmt.Sprintf("%d undecided", f.Undecided))
	}
	if f.CutOff > 0 {
		parts = append(parts, fmt.Sprintf("%d not run: the budget was used up", f.CutOff))
	}
	return strings.Join(parts, "; ")
}

// tally counts the trials that showed each flaw.
type tally struct {
	flaws []Flaw
}

func (t *tally) add(f trial.Flaw, by trial.Result) {
	i := slices.IndexFunc(t.flaws, func(o Flaw) bool { return o.Oracle == f.Oracle && o.Cause == f.Cause })
	if i < 0 {
		i = len(t.flaws)
		t.flaws = append(t.flaws, Flaw{Oracle: f.Oracle, Cause: f.Cause})
	}
	if old := t.flaws[i].smallest; old == nil || by.Ops+by.Commands < old.Ops+old.Commands {
		t.flaws[i].Replay, t.flaws[i].smallest = replayOf(by.Spec), &by
	}
	t.flaws[i].Trials++
	t.flaws[i].Forever = t.flaws[i].Forever || f.Forever
}

// sorted returns the flaws, the most frequent first.
func (t *tally) sorted() []Flaw {
	slices.SortStableFunc(t.flaws, func(a, b Flaw) int {
		return cmp.Or(b.Trials-a.Trials, cmp.Compare(a.Oracle, b.Oracle), cmp.Compare(a.Cause, b.Cause))
	})
	return t.flaws
}
