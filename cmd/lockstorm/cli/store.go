package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
)

func storeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store ls|rm|gc",
		Short: "List stored campaigns, and remove them",
		Long: `Store lists the campaigns of a store with time, age, size, trials and the worst
verdict of their cells, and removes them. A campaign that is running is never removed.
The link to the latest campaign stays valid.`,
		Example: `  lockstorm store ls
  lockstorm store gc --keep 3`,
		Args: expectArgs(1, 1, "one of ls, rm, gc"),
		RunE: func(_ *cobra.Command, args []string) error {
			return input.Errorf("lockstorm store %q: expected one of ls, rm, gc", args[0])
		},
	}
	cmd.AddCommand(storeListCommand(a), storeRemoveCommand(a), storeKeepCommand(a))
	return cmd
}

func storeListCommand(a *app) *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List campaigns, newest first",
		Example: `  lockstorm store ls
  lockstorm store ls --json | jq 'map(.bytes) | add'`,
		Args: expectArgs(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			all, err := campaign.Inventory(store)
			if err != nil {
				return err
			}
			return a.listCampaigns(all, asJSON, time.Now())
		},
	}
	cmd.Flags().StringVar(&store, "store", "store", "directory of the store")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *output) listCampaigns(all []campaign.Holding, asJSON bool, now time.Time) error {
	if asJSON {
		type aged struct {
			campaign.Holding
			Age time.Duration `json:"age"` // in nanoseconds
		}
		rows := []aged{}
		for _, h := range all {
			rows = append(rows, aged{h, now.Sub(h.Started)})
		}
		return printJSON(a.stdout, rows)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "no campaigns")
		return nil
	}
	var rows [][]string
	for _, h := range all {
		rows = append(rows, []string{h.Name, h.Started.UTC().Format(time.DateTime), age(now.Sub(h.Started)), size(h.Bytes), strconv.Itoa(h.Trials), h.Outcome, h.Dir})
	}
	fmt.Fprintln(a.stdout, campaignTable(rows, a.width(a.stdout)))
	return nil
}

// campaignTable renders rows of campaigns as a table or, if that is wider than width, as blocks of
// lines; 0 = unlimited.
func campaignTable(rows [][]string, width int) string {
	columns := []string{"name", "started", "age", "size", "trials", "outcome", "directory"}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(tableRow(columns))
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}})
	t.AppendRows(tableRows(rows))
	if out := t.Render(); width <= 0 || text.LongestLineLen(out) <= width {
		return out
	}
	return blocks(columns, rows, width)
}

func tableRows(rows [][]string) (all []table.Row) {
	for _, cells := range rows {
		all = append(all, tableRow(cells))
	}
	return all
}

func tableRow(cells []string) (row table.Row) {
	for _, c := range cells {
		row = append(row, c)
	}
	return row
}

// age writes a duration in its largest whole unit.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%d d", d/day)
	case d >= time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", max(0, d/time.Second))
}

// size writes a number of bytes with a unit; 1 MB is 10⁶ bytes.
func size(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

func storeRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm DIR",
		Short: "Remove one campaign, without asking",
		Example: `  lockstorm store rm store/compare/20260301T123000Z
  lockstorm store rm store/latest`,
		Args: expectArgs(1, 1, "the directory of a stored campaign"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := campaign.Remove(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s removed\n", args[0])
			return nil
		},
	}
}

func storeKeepCommand(a *app) *cobra.Command {
	var store string
	var keep int
	cmd := &cobra.Command{
		Use:   "gc --keep N",
		Short: "Remove all but the last campaigns of each name",
		Example: `  lockstorm store gc --keep 3
  lockstorm store gc --keep 1 --store /srv/lockstorm`,
		Args: expectArgs(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if keep < 1 {
				return input.Errorf("--keep %d: expected the number of campaigns of each name to keep, 1 or more", keep)
			}
			all, err := campaign.Inventory(store)
			if err != nil {
				return err
			}
			removed, freed := 0, int64(0)
			for _, h := range campaign.Surplus(all, keep) {
				if err := campaign.Remove(h.Dir); err != nil {
					return err
				}
				removed, freed = removed+1, freed+h.Bytes
			}
			fmt.Fprintf(a.stdout, "%s removed, %s freed\n", count(removed, "campaign"), size(freed))
			return nil
		},
	}
	cmd.Flags().StringVar(&store, "store", "store", "directory of the store")
	cmd.Flags().IntVar(&keep, "keep", 0, "number of campaigns of each name to keep")
	return cmd
}
