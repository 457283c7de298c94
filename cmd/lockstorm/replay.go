package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
)

// replayFlags are those of lockstorm replay.
type replayFlags struct {
	campaign.Config
	lock, fault, workload string
	trial                 int
	hash, out             string
	verbose, json         bool
}

func (a *app) replayCommand() *cobra.Command {
	f := replayFlags{Config: a.config()}
	cmd := &cobra.Command{
		Use:   "replay [DIR]",
		Short: "Run one trial again: a stored one, or one that is named",
		Long: `Replay runs one trial again and tells what happened in it: the trial of a
stored folder, or the one that a campaign with these flags would run. On a
testbed with virtual time it is the same trial, byte for byte, on any machine;
the hash of its history and commands says so. On real Redis no two histories
are alike: the plan is the same, what comes of it may differ.

With a folder, its verdict.json holds the hash to compare with; else --hash.

Exit codes: 0 the trial ran, and came out as stored if that is known, violated
or not (lockstorm check judges); 254 bad usage or configuration, 255 the history
differs on a testbed with virtual time, or the harness failed.`,
		Example: `  lockstorm replay store/latest/trials/set-nx-ex/delay/mutex-0
  lockstorm replay --lock set-nx-px --fault client-pause --seed 1 --trial 0
  lockstorm replay --lock redlock --fault chaos --seed 7 --trial 3 --verbose`,
		Args: expectArgs(0, 1, "the folder of a stored trial, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags(), args); err != nil {
				return err
			}
			return a.replay(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.lock, "lock", "", "the recipe (lockstorm list locks)")
	flags.StringVar(&f.fault, "fault", "none", "the fault (lockstorm list faults)")
	flags.StringVar(&f.workload, "workload", "mutex", "what clients do (lockstorm list workloads)")
	flags.Uint64Var(&f.Seed, "seed", f.Seed, "seed of the campaign")
	flags.IntVar(&f.trial, "trial", 0, "number of the trial in its cell, from 0")
	flags.StringVar(&f.Testbed, "testbed", f.Testbed, "where Redis comes from (lockstorm list testbeds; with DIR default the one that the trial ran on)")
	trialFlags(flags, &f.Config)
	flags.StringVar(&f.hash, "hash", "", "the hash to compare with, or its first digits")
	flags.StringVar(&f.out, "out", "", "directory to write the trial to: history, commands, verdict, timeline, story")
	flags.BoolVar(&f.verbose, "verbose", false, "print every command when it is known how it ended")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// besideFolder are the flags that do not say what the trial is.
var besideFolder = []string{"testbed", "hash", "out", "verbose", "json"}

// check returns an InputError if the flags do not name one trial.
func (f replayFlags) check(flags *pflag.FlagSet, args []string) error {
	if len(args) == 0 {
		switch {
		case f.lock == "":
			return campaign.Inputf("lockstorm replay: expected the folder of a stored trial, or --lock and --fault")
		case f.trial < 0:
			return campaign.Inputf("--trial %d: expected at least 0", f.trial)
		}
		return nil
	}
	var surplus error
	flags.Visit(func(flag *pflag.Flag) {
		if surplus == nil && !slices.Contains(besideFolder, flag.Name) {
			surplus = campaign.Inputf("--%s: %s says what the trial is; expected only --testbed, --hash, --out, --verbose and --json beside a folder", flag.Name, args[0])
		}
	})
	return surplus
}

// replayed is what --json prints.
type replayed struct {
	Spec     campaign.Spec     `json:"spec"`
	Outcome  campaign.Outcome  `json:"outcome"`
	Kind     locks.Kind        `json:"kind"`
	Flaws    []campaign.Flaw   `json:"flaws"`
	Verdicts []checker.Verdict `json:"verdicts"`
	Hits     int               `json:"hits"`
	Ops      int               `json:"ops"`
	Commands int               `json:"commands"`
	Hash     string            `json:"hash"`
	// Expected is the hash that was to come out, "" if that is not known, and
	// Same whether it did.
	Expected string `json:"expected"`
	Same     bool   `json:"same"`
	Dir      string `json:"dir,omitempty"`
}

func (a *app) replay(cmd *cobra.Command, f replayFlags, args []string) error {
	ctx := cmd.Context()
	var before stored
	if len(args) > 0 {
		var err error
		if before, err = readStored(args[0]); err != nil {
			return err
		}
		if sameDirectory(args[0], f.out) {
			return campaign.Inputf("--out %s: that is the trial that is replayed; expected another directory", f.out)
		}
		if !cmd.Flags().Changed("testbed") {
			f.Testbed = before.spec.Testbed
		}
	}
	if f.hash == "" {
		f.hash = before.hash
	}
	choice, err := a.choice(f.Testbed)
	if err != nil {
		return err
	}
	tb, done, err := choice.open()
	if err != nil {
		return err
	}
	defer func() { _ = done() }() // what a replay tells does not depend on it
	r := campaign.Replay{Testbed: tb, Spec: before.spec, Dir: f.out}
	comparable := choice.Virtual && (len(args) == 0 || before.spec.Testbed == choice.Name)
	if len(args) == 0 {
		if r.Spec, err = campaign.PlanTrial(ctx, tb, f.Config, f.lock, f.fault, f.workload, f.trial); err != nil {
			return err
		}
	}
	r.Spec.Testbed = choice.Name
	if r.Worker, err = choice.worker(); err != nil {
		return err
	}
	if f.verbose {
		r.Log = func(c history.Command) { fmt.Fprintln(a.notes(f.json), reports.CommandLine(c)) }
	}
	trial, evidence, err := r.Run(ctx)
	if why := (interruption{}); errors.As(context.Cause(ctx), &why) {
		fmt.Fprintf(a.stderr, "lockstorm: %v\n", why)
		return exit(why.code())
	}
	if err == nil && f.out != "" {
		err = reports.Trial(f.out, trial, evidence)
	}
	if err != nil {
		return err
	}
	return a.showReplay(f, trial, evidence, comparable)
}

// showReplay prints what came of it; comparable says whether a history with that
// hash was to be expected.
func (a *app) showReplay(f replayFlags, t campaign.Trial, e history.Evidence, comparable bool) error {
	same := f.hash != "" && strings.HasPrefix(t.Hash, f.hash)
	var err error
	if f.json {
		err = printJSON(a.stdout, replayed{
			Spec: t.Spec, Outcome: t.Outcome, Kind: t.Kind, Flaws: t.Flaws, Verdicts: t.Verdicts, Hits: t.Hits,
			Ops: t.Ops, Commands: t.Commands, Hash: t.Hash, Expected: f.hash, Same: same, Dir: f.out,
		})
	} else {
		fmt.Fprintf(a.stdout, "%s under %s, %s, trial %d, seed %d, on testbed %s (%s): %d operations, %d commands\n",
			t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, t.Spec.Trial, t.Spec.Seed, t.Spec.Testbed, t.Spec.Topology, t.Ops, t.Commands)
		fmt.Fprintf(a.stdout, "hash %s\n%s\n\n", t.Hash, comparison(f.hash, same, comparable))
		a.verdicts(t.Verdicts)
		fmt.Fprintln(a.stdout)
		err = reports.Tell(a.stdout, t, e, terminalWidth(a.stdout))
		if f.out != "" {
			fmt.Fprintf(a.stdout, "\nwritten to %s\n", f.out)
		}
	}
	if err != nil {
		return err
	}
	if comparable && f.hash != "" && !same {
		return fmt.Errorf("the history differs: expected hash %s, got %s", f.hash, t.Hash)
	}
	return nil
}

// comparison says how a history compares with the one that had the expected hash.
func comparison(expected string, same, comparable bool) string {
	switch {
	case expected == "":
		return "no history to compare with (--hash)"
	case same:
		return "same history as stored"
	case comparable:
		return "DIFFERENT history: stored was " + expected
	}
	return "another history than the stored one, by nature: only on one and the same testbed with virtual time are they alike"
}

// notes is where what is beside the result goes.
func (a *app) notes(asJSON bool) io.Writer {
	if asJSON {
		return a.stderr
	}
	return a.stdout
}

// stored is what defines a stored trial, and the hash that it had; "" if it was
// not judged.
type stored struct {
	spec campaign.Spec
	hash string
}

// readStored reads it from a trial's folder, or from beside its history.
func readStored(path string) (s stored, err error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	err = readFile(filepath.Join(path, campaign.SpecFile), &s.spec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, campaign.Inputf("%s: expected the folder of a stored trial, with %s in it", path, campaign.SpecFile)
	case err != nil:
		return s, err
	}
	var verdict struct{ Hash string }
	if err := readFile(filepath.Join(path, campaign.VerdictFile), &verdict); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.hash = verdict.Hash
	return s, nil
}

// readFile decodes a JSON file; the InputError names it.
func readFile(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return &campaign.InputError{Err: err}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return campaign.Inputf("%s: %w", path, err)
	}
	return nil
}

// sameDirectory says whether two paths are one directory.
func sameDirectory(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
