package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
)

type reportFlags struct {
	store, recipes string
	beside         []string
	json           bool
	volumeFlags
}

func reportCommand(a *app) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [DIR] | report BEFORE AFTER",
		Short: "Render a stored campaign again, or compare two",
		Long: `Report renders a stored campaign again, from what is on disk: the matrix, the
pages, and the pictures of the trials on these pages. Without DIR it takes the
latest campaign of the store. A killed campaign is reported up to its last
stored trial.

With two directories it lists the changes from the first campaign to the second:
cells that got worse or better, flaws that are new, each with the command that
shows it, and flaws that are gone. With --beside it prints one matrix of several
campaigns instead, in Markdown, and the flaws that only some of them showed.

With --recipes it writes a page instead: every recipe with its algorithm, its
claims and its flaws, each with the command that shows it.`,
		Example: `  lockstorm report store/latest
  lockstorm report store/v1/20260301T123000Z store/latest`,
		Args: expectArgs(0, 2, "the directory of a stored campaign, or of two to compare"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dirs := args
			if len(dirs) == 0 {
				dirs = []string{filepath.Join(f.store, campaign.Latest)}
			}
			if err := f.check(cmd.Flags(), len(dirs)); err != nil {
				return err
			}
			switch {
			case len(dirs) == 2:
				return a.changes(dirs[0], dirs[1], f.json)
			case len(f.beside) > 0:
				return a.sideBySide(append(dirs, f.beside...))
			case f.recipes != "":
				return recipesPage(dirs[0], f.recipes)
			}
			return a.report(cmd.Context(), dirs[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.store, "store", campaign.DefaultConfig().Store, "directory that campaigns are stored in")
	flags.StringVar(&f.recipes, "recipes", "", "file to write the page of recipes to, in Markdown")
	flags.StringArrayVar(&f.beside, "beside", nil, "another stored campaign to print beside this one; may be repeated")
	flags.BoolVar(&f.json, "json", false, "print matrix.json instead of the matrix; of two campaigns, the changes")
	f.register(cmd, "print only unexpected results: no matrix", "")
	return cmd
}

// check returns an input.Error if the flags contradict each other.
func (f reportFlags) check(flags *pflag.FlagSet, dirs int) error {
	var what string
	var others []string
	switch {
	case dirs == 2:
		what, others = "two directories ask for what changed", []string{"beside", "quiet", "recipes"}
	case len(f.beside) > 0:
		what, others = fmt.Sprintf("--beside %s prints several campaigns, and no report", f.beside[0]), []string{"json", "quiet", "recipes"}
	case f.recipes != "":
		what, others = fmt.Sprintf("--recipes %s writes another page, and no report", f.recipes), []string{"json", "quiet"}
	}
	for _, other := range others {
		if flags.Changed(other) {
			return input.Errorf("--%s: %s; expected one of them", other, what)
		}
	}
	return nil
}

func (a *app) report(ctx context.Context, dir string, f reportFlags) error {
	stored, err := a.load(dir)
	if err != nil {
		return err
	}
	if err := stored.Report(ctx, reports.New); err != nil {
		return err
	}
	if f.json || !f.quiet {
		if err := a.print(stored.Matrix, f.json); err != nil {
			return err
		}
	}
	if f.json {
		return nil
	}
	a.discrepancies(a.stdout, stored)
	if f.quiet {
		return nil
	}
	a.asExpected(a.stdout, stored)
	a.say(a.stdout, "report: %s", filepath.Join(dir, reports.HTMLFile))
	a.firstLook(a.stdout, stored)
	return nil
}

// load warns on stderr if one of the stored campaign's files is truncated.
func (a *output) load(dir string) (campaign.Stored, error) {
	s, err := campaign.Load(dir)
	if err == nil && s.Truncated != nil {
		a.say(a.stderr, "lockstorm: %v", s.Truncated)
	}
	return s, err
}

// changes prints what changed from one stored campaign to another.
func (a *output) changes(before, after string, asJSON bool) error {
	old, err := a.load(before)
	if err != nil {
		return err
	}
	now, err := a.load(after)
	if err != nil {
		return err
	}
	c := reports.Compare(old, now)
	if asJSON {
		return printJSON(a.stdout, c)
	}
	return reports.WriteChanges(a.stdout, c, old, now, a.screen(a.stdout))
}

// sideBySide prints several stored campaigns as one matrix.
func (a *output) sideBySide(dirs []string) error {
	var all []campaign.Stored
	for _, dir := range dirs {
		s, err := a.load(dir)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	return reports.SideBySide(a.stdout, all...)
}

// recipesPage writes the recipes page to a file. Its commands replay trials of the campaign in dir.
func recipesPage(dir, file string) error {
	stored, err := campaign.Load(dir)
	if err != nil {
		return err
	}
	shown := stored.ShownFlaws()
	page := reports.Recipes(func(lock string, f locks.Flaw) string {
		x, _ := campaign.Example(shown, lock, f)
		return x.Replay
	})
	if err := os.WriteFile(file, page, 0o644); err != nil {
		return input.Errorf("--recipes: %w", err)
	}
	return nil
}
