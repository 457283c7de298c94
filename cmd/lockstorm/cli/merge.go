package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports"
)

func mergeCommand(a *app) *cobra.Command {
	c := campaign.DefaultConfig()
	var asJSON bool
	var f volumeFlags
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the shards of a campaign together",
		Long: `Merge makes one campaign of its shards (lockstorm run --shard), with one matrix
and one report: those of the undivided campaign. It checks that the shards have
the same version, configuration and seed, and that each trial comes once. The
shards stay as they are. Missing shards, and shards that did not run to their end,
are named, and leave cells undecided.`,
		Example: `  lockstorm merge shards/*/store/latest
  lockstorm merge --name nightly a/latest b/latest`,
		Args: expectArgs(1, -1, "the directories of stored shards"),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			return a.merge(cmd.Context(), dirs, c.Store, c.Name, asJSON, f)
		},
	}
	cmd.Flags().StringVar(&c.Store, "store", c.Store, "directory that the merged campaign is stored in")
	cmd.Flags().StringVar(&c.Name, "name", "merged", "the merged campaign's name in the store")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print matrix.json instead of the matrix")
	f.register(cmd, "print only unexpected results: no matrix", "")
	return cmd
}

func (a *app) merge(ctx context.Context, dirs []string, store, name string, asJSON bool, f volumeFlags) error {
	m, err := campaign.Merge(ctx, dirs, store, name, wording.Command(append([]string{"lockstorm"}, a.args...)...),
		func(dir string) (campaign.Sink, error) { return reports.New(dir) })
	if err != nil {
		return err
	}
	if asJSON || !f.quiet {
		if err := a.print(m.Matrix, asJSON); err != nil {
			return err
		}
	}
	outcome := a.outcome(ctx, m.Stored, asJSON, f.volume())
	if why := m.Words(); why != "" {
		a.say(a.stderr, "lockstorm: %s: the matrix has holes", why)
		if outcome == nil {
			return exit(campaign.ExitUnknown)
		}
	}
	return outcome
}
