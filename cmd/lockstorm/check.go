package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
)

// models are what a history without a spec.json can be judged as.
var models = []struct {
	name   string
	claims history.Claims
}{
	{"mutex", history.Claims{Quorum: 1}},
	{"reentrant", history.Claims{Quorum: 1, Reentrant: true}},
	{"read-write", history.Claims{Quorum: 1, ReadWrite: true}},
}

func modelNames() []string {
	var names []string
	for _, m := range models {
		names = append(names, m.name)
	}
	return names
}

func (a *app) checkCommand() *cobra.Command {
	var model string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Judge a stored history",
		Long: `Check judges a history in JSON Lines, or a trial's folder, by the oracles that
judge a run. It uses commands.jsonl and spec.json if they lie beside the
history; without spec.json, say with --model what kind of lock it is. Nothing is
said to hold where files are cut short or are not those that the run judged.

Exit codes: 0 nothing is violated, 1 something is, 2 it cannot be told.`,
		Example: `  lockstorm check store/latest/trials/set-nx-ex/delay/mutex-0
  lockstorm check history.jsonl --model mutex`,
		Args: expectArgs(1, 1, "one history file or trial folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args[0], model, asJSON)
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "what kind of lock it is: "+strings.Join(modelNames(), ", ")+" (default as spec.json says)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdicts as JSON")
	return cmd
}

func (a *app) check(ctx context.Context, path, model string, asJSON bool) error {
	record, err := campaign.LoadJudged(path)
	if err != nil {
		return err
	}
	for _, t := range record.Truncated {
		fmt.Fprintf(a.stderr, "lockstorm: %v\n", t)
	}
	if record.Differs != nil {
		fmt.Fprintf(a.stderr, "lockstorm: %s: %v\n", path, record.Differs)
	}
	switch {
	case model != "":
		i := slices.Index(modelNames(), model)
		if i < 0 {
			return campaign.Inputf("--model %q: expected one of %s", model, strings.Join(modelNames(), ", "))
		}
		record.Evidence.Claims = models[i].claims
	case record.Spec == nil:
		return campaign.Inputf("%s: no %s beside it that says what was promised: expected --model %s",
			path, campaign.SpecFile, strings.Join(modelNames(), ", "))
	}
	trial, err := campaign.Judge(ctx, record)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if asJSON {
		err = printJSON(a.stdout, trial.Verdicts)
	} else {
		a.verdicts(trial.Verdicts)
	}
	if err != nil {
		return err
	}
	return checkExit(trial.Verdicts)
}

// mostFindings is how many findings of an oracle a table lists.
const mostFindings = 5

// verdicts prints a table: a row per finding, or why there is none.
func (a *app) verdicts(verdicts []checker.Verdict) {
	t := plainTable("oracle", "result", "cause", "what happened")
	for _, v := range verdicts {
		if len(v.Findings) == 0 {
			t.AppendRow(table.Row{v.Oracle, v.Result, "", v.Why})
		}
		for i, f := range v.Findings {
			if i == mostFindings {
				t.AppendRow(table.Row{v.Oracle, v.Result, "", fmt.Sprintf("and %d more", len(v.Findings)-i)})
				break
			}
			t.AppendRow(table.Row{v.Oracle, v.Result, f.Cause, f.Summary})
		}
	}
	fmt.Fprintln(a.stdout, t.Render())
}

// checkExit is nil if something held and nothing else is to be said.
func checkExit(verdicts []checker.Verdict) error {
	has := func(r checker.Result) bool {
		return slices.ContainsFunc(verdicts, func(v checker.Verdict) bool { return v.Result == r })
	}
	switch {
	case has(checker.Violated):
		return exit(campaign.ExitUnexpected)
	case has(checker.Unknown), !has(checker.Held):
		return exit(campaign.ExitUnknown)
	}
	return nil
}
