package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed/external"
)

func cleanCommand(a *app) *cobra.Command {
	var f testbedFlags
	cmd := &cobra.Command{
		Use:   "clean DIR",
		Short: "Remove the keys that a killed run left on somebody's Redis",
		Long: `Clean removes the keys that a killed campaign on --testbed external left on the
servers. A run removes its keys itself, except after SIGKILL; then keys without a TTL
(setnx) would stay for ever. The names of the campaign's keys contain its prefix, which
its campaign.json names ("prefix": "lockstorm:<16 hexadecimal digits>:"); no other key
is touched. A campaign that is running is refused.

Servers, user and database are the campaign's, unless flags name others.`,
		Example: `  lockstorm clean store/compare/20260301T123000Z
  lockstorm clean store/latest --password-file secret`,
		Args: expectArgs(1, 1, "the directory of a stored campaign"),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := campaign.LoadInfo(args[0])
			if err != nil {
				return err
			}
			if info.Prefix == "" {
				return input.Errorf("%s: it ran on testbed %s, on servers of its own: expected one of testbed %s", args[0], info.Config.Testbed, external.Name)
			}
			if err := campaign.Over(args[0]); err != nil {
				return err
			}
			if err := recall(cmd.Flags(), info.Config.TestbedFlags); err != nil {
				return err
			}
			o, err := f.named()
			if err != nil {
				return &input.Error{Err: err}
			}
			n, err := external.Clean(cmd.Context(), o, info.Prefix)
			if err != nil {
				return &input.Error{Err: err}
			}
			fmt.Fprintf(a.stdout, "%s with %s in their names removed\n", count(n, "key"), info.Prefix)
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	f.registerExternal(cmd.Flags())
	for _, consent := range []string{consentFlag, ownFlag} {
		_ = cmd.Flags().MarkHidden(consent) // clean asks for no consent
	}
	return cmd
}
