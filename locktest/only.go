package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/trial"
)

// ErrNoTrial is the error of Check if no fault has the trial that Options.Replay names.
var ErrNoTrial = errors.New("locktest: there is no trial")

// probesOf leaves out the probes that the trial of Options.Replay does not need: those of other
// workloads.
func (s *session) probesOf(specs []trial.Spec) []trial.Spec {
	workload, _, named := strings.Cut(s.Replay, "/")
	if !named || strings.HasSuffix(s.Replay, ".json") {
		return specs
	}
	return slices.DeleteFunc(specs, func(spec trial.Spec) bool { return spec.Workload != workload })
}

// named returns the trial under a fault that Options.Replay names; nil = the fault has no such trial.
func (s *session) named(fault string) (*trial.Spec, error) {
	specs, _, err := s.plan.Trials(fault)
	if err != nil {
		return nil, fmt.Errorf("locktest: %w", err)
	}
	for _, p := range s.probes {
		specs = append(specs, p.Spec)
	}
	for _, spec := range specs {
		if spec.Fault == fault && replayOf(spec) == s.Replay {
			return &spec, nil
		}
	}
	return nil, nil
}

// only tests the lock under a fault by the trial that Options.Replay names. If the fault has no such
// trial, the result has no trials.
func (s *session) only(ctx context.Context, fault string) (FaultResult, error) {
	f := FaultResult{Fault: fault}
	spec, err := s.named(fault)
	if err != nil || spec == nil {
		f.NotTested = fmt.Sprintf("it has no trial %q", s.Replay)
		return f, err
	}
	folder := s.folder(*spec)
	t, err := s.rerun(ctx, *spec, folder)
	if err != nil {
		return f, err
	}
	worst := f.fold([]trial.Result{t})
	if worst == nil {
		return f, nil
	}
	v := f.Violation
	v.Seed, v.Replay, v.spec, v.folder, v.unshrunk = s.Seed, s.Replay, t.Spec, folder, true
	v.Title, v.Shrunk = titleOf(v.Flaws[0]), "not shrunk: only this trial was to run"
	v.Story, err = s.storyOf(ctx, folder)
	return f, err
}
