package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
)

func (a *app) reportCommand() *cobra.Command {
	var store, recipes string
	var beside []string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "report [DIR]",
		Short: "Render a stored campaign again",
		Long: `Report renders a stored campaign again, from what is on disk: the matrix, the
pages, and the pictures of the trials that these show. Without DIR it takes the
latest campaign of the store. A campaign that was killed is reported as far as
it came. With --recipes it writes a page instead: every recipe with its algorithm,
its claims and its flaws, each with the command that shows it. With --beside it prints
one matrix of several campaigns instead, in Markdown, and the flaws that only some
of them showed.`,
		Example: `  lockstorm report store/latest
  lockstorm report --all store/compare/20260301T123000Z`,
		Args: expectArgs(0, 1, "the directory of a stored campaign"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := filepath.Join(store, campaign.Latest)
			if len(args) > 0 {
				dir = args[0]
			}
			if len(beside) > 0 {
				for _, other := range []string{"all", "json", "recipes"} {
					if cmd.Flags().Changed(other) {
						return input.Errorf("--%s: --beside %s prints several campaigns, and no report; expected one of them", other, beside[0])
					}
				}
				return a.beside(append([]string{dir}, beside...))
			}
			if recipes != "" {
				for _, other := range []string{"all", "json"} {
					if cmd.Flags().Changed(other) {
						return input.Errorf("--%s: --recipes %s writes another page, and no report; expected one of them", other, recipes)
					}
				}
				return recipesPage(dir, recipes)
			}
			return a.report(cmd.Context(), dir, all, asJSON)
		},
	}
	cmd.Flags().StringVar(&store, "store", campaign.DefaultConfig().Store, "directory that campaigns are stored in")
	cmd.Flags().BoolVar(&all, "all", false, "draw and tell every violated trial that was kept, and write report-full.md: all of it in Markdown")
	cmd.Flags().StringVar(&recipes, "recipes", "", "file to write the page of recipes to, in Markdown")
	cmd.Flags().StringArrayVar(&beside, "beside", nil, "another stored campaign to print beside this one; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print matrix.json instead of the matrix")
	return cmd
}

func (a *app) report(ctx context.Context, dir string, all, asJSON bool) error {
	stored, err := campaign.Load(dir)
	if err != nil {
		return err
	}
	if stored.Truncated != nil {
		fmt.Fprintf(a.stderr, "lockstorm: %v\n", stored.Truncated)
	}
	sink := reports.New
	if all {
		sink = reports.NewFull
	}
	if err := stored.Report(ctx, sink); err != nil {
		return err
	}
	if err := a.print(stored.Matrix, asJSON); err != nil {
		return err
	}
	if !asJSON {
		a.surprises(a.stdout, stored)
		a.asExpected(a.stdout, stored)
		a.say(a.stdout, "report: %s", filepath.Join(dir, reports.HTMLFile))
		a.firstLook(a.stdout, stored)
	}
	return nil
}

// beside prints stored campaigns as one matrix.
func (a *app) beside(dirs []string) error {
	var all []campaign.Stored
	for _, dir := range dirs {
		s, err := campaign.Load(dir)
		if err != nil {
			return err
		}
		if s.Truncated != nil {
			fmt.Fprintf(a.stderr, "lockstorm: %v\n", s.Truncated)
		}
		all = append(all, s)
	}
	return reports.Beside(a.stdout, all...)
}

// recipesPage writes the page of recipes to a file.
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
