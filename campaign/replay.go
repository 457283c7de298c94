package campaign

import (
	"context"
	"errors"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// PlanTrial returns the spec that a campaign with this configuration gives trial
// k of a cell. What a plan aims at is seen in a fault-free trial, which is run
// first if the fault needs it. Names are taken as they are: no globs. The error
// is an InputError if there is no such trial, also where the cell is not supported.
func PlanTrial(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string, k int) (Spec, error) {
	return Spec{}, errors.New("not there yet")
}

// Replay is one trial that is run again.
type Replay struct {
	Testbed testbed.Testbed
	Spec    Spec
	// Dir is the folder that the trial is stored in, made if it is not there;
	// "" = it is not stored.
	Dir string
	// Log receives each command when it is known how it ended; nil = nobody does.
	Log func(history.Command)
	// Worker is the command line of a worker process to run the trial in, as in
	// Campaign; nil = this process, which a panic of the code under test ends.
	Worker []string
}

// Run runs the trial and judges it. What the recipe did wrong is in the trial's
// verdicts; the error is the harness's, also beside a trial.
func (r Replay) Run(ctx context.Context) (Trial, history.Evidence, error) {
	return Trial{}, history.Evidence{}, errors.New("not there yet")
}
