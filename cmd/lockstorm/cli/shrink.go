package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// shrinkTrials is the default number of trials in which one counterexample is shrunk.
const shrinkTrials = 1000

// shrinks returns the number of trials for shrinking each counterexample of a campaign on the testbed.
// It warns if the chosen number has no effect.
func (a *app) shrinks(trials int, chosen bool, c testbedChoice) (int, error) {
	switch {
	case trials < 0:
		return 0, input.Errorf("--shrink %d: expected a number of trials, or 0", trials)
	case c.Virtual || trials == 0:
		return trials, nil
	case chosen:
		fmt.Fprintf(a.stderr, "lockstorm: --shrink %d: nothing is shrunk on testbed %s: on real time no trial is the same again\n", trials, c.Name)
	}
	return 0, nil
}

func shrinkCommand(a *app) *cobra.Command {
	var trials int
	var out string
	var client commandFlags
	cmd := &cobra.Command{
		Use:   "shrink DIR",
		Short: "Look for the smallest trial that shows the same violation as a stored one",
		Long: `Shrink runs a stored trial again and again, with fewer clients, critical sections,
faults and nodes, with narrower faults and rounder times, as long as the same
oracle stays violated by the same cause. It stores the smallest trial, which
lockstorm replay runs, and tells its story.

Without being asked, lockstorm run shrinks one trial of each violated cell, which the
report then shows. Only trials on virtual time can be shrunk: others never run the
same way twice.`,
		Example: `  lockstorm shrink docs/counterexamples/set-nx-ex-delay
  lockstorm shrink DIR --trials 10000`,
		Args: expectArgs(1, 1, "the folder of a stored trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if trials <= 0 {
				return input.Errorf("--trials %d: expected at least 1", trials)
			}
			if out == "" {
				out = filepath.Join(args[0], trial.MinimalFolder)
			}
			if _, err := client.open(cmd.Context(), a.testbeds[0].Name); err != nil {
				return err
			}
			return a.shrink(cmd.Context(), args[0], out, trials)
		},
	}
	client.register(cmd.Flags())
	cmd.Flags().IntVar(&trials, "trials", shrinkTrials, "how many trials to run at most")
	cmd.Flags().StringVar(&out, "out", "", "directory to write the smallest trial to (default DIR/"+trial.MinimalFolder+")")
	return cmd
}

// shrink shrinks the trial stored in dir, stores the smaller trial in out, and prints a report.
func (a *app) shrink(ctx context.Context, dir, out string, trials int) error {
	s, err := readStored(dir)
	if err == nil {
		err = s.nameable(dir)
	}
	if err != nil {
		return err
	}
	if sameDirectory(dir, out) {
		return input.Errorf("--out %s: that is the trial that is shrunk; expected another directory", out)
	}
	return a.onTestbed(ctx, s.spec.Testbed, func(choice testbedChoice, tb testbed.Testbed) error {
		r := campaign.Replay{Testbed: tb, Spec: s.spec, Dir: out}
		if r.Worker, err = choice.worker(); err != nil {
			return err
		}
		result, evidence, err := r.Shrink(ctx, trials)
		if why := context.Cause(ctx); why != nil {
			return why
		}
		if err == nil {
			err = reports.Minimal(out, result, evidence)
		}
		if err != nil {
			return err
		}
		a.say(a.stdout, "%s", result.Shrinking.Words())
		fmt.Fprintln(a.stdout)
		if err := reports.Tell(a.stdout, result, evidence, a.width(a.stdout)); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
		a.say(a.stdout, "written to %s; to run it again: %s", out, wording.As(wording.Command("lockstorm", "replay", out), a.program))
		return nil
	})
}
