package locktest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
)

// replayNamed runs and judges the trial that -lockstorm.replay names. If that trial belongs to another
// fault, replayNamed skips the subtest.
func (r *runner) replayNamed(ctx context.Context, t *testing.T, fault string, result *Result) {
	spec, err := r.named(fault)
	if err != nil {
		t.Fatal(err)
	}
	if spec == nil {
		t.Skip("another fault's trial is replayed")
	}
	a := rerunTrial{spec: *spec, folder: r.session.folder(*spec)}
	if a.done, err = r.session.rerun(ctx, a.spec, a.folder); err != nil {
		t.Fatal(cmp.Or(context.Cause(ctx), err))
	}
	r.replayed = true
	result.Trials++
	r.judge(t, a, "the trial "+r.replay)
}

// judge fails the test if the lock is to blame for a violation in the trial, or if the trial could not
// be judged. A trial that decides nothing fails the test if -lockstorm.replay names the trial. If it
// is a saved trial, judge only logs a note. judge returns false if it failed the test.
func (r *runner) judge(t *testing.T, a rerunTrial, what string) (ok bool) {
	done := a.done
	switch {
	case done.Err != "":
		t.Errorf("%s could not be judged: %s", what, done.Err)
	case hasFlaw(done):
		flaw := worstFlaw(done)
		shows := fmt.Sprintf("%s shows that the lock breaks what it promises: %s by %s", what, flaw.Oracle, flaw.Cause)
		if other, ok := r.session.reportedAs(flaw); ok {
			t.Errorf("%s: the same as under %v", shows, other)
			break
		}
		r.session.reported = append(r.session.reported, reportedFlaw{flaw, a.spec.Fault, a.path})
		t.Errorf("%s\n\n%s\n\n%s", shows, r.storyOf(t, a), strings.Join(keep(t, a.folder), "\n"))
	case done.Violation() && r.replay != "":
		t.Logf("%s: only limits of any lease\n\n%s", what, r.storyOf(t, a))
		return true
	case done.Violation():
		t.Logf("%s: only limits of any lease", what)
		return true
	case !done.Decided() && r.replay != "":
		t.Errorf("%s shows nothing: its outcome is %s", what, done.Outcome)
	case !done.Decided():
		t.Logf("%s shows nothing any more (%s): delete it, or look at it with -lockstorm.replay", what, done.Outcome)
		return true
	default:
		t.Logf("%s: %s", what, done.Outcome)
		return true
	}
	return false
}

func (r *runner) storyOf(t *testing.T, a rerunTrial) string {
	text, err := r.session.storyOf(t.Context(), a.folder)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(text, "\n")
}
