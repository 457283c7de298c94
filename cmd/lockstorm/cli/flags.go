package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/trial"
)

// flagError turns pflag's message into one line. It suggests the nearest name for an
// unknown flag, and names the expected kind for an invalid value.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		var names []string
		for _, n := range flagNames(cmd.Flags()) {
			names = append(names, "--"+n)
		}
		return input.Errorf("%s: unknown flag %q: did you mean %s?", cmd.CommandPath(), name, campaign.Nearest("--"+strings.TrimLeft(name, "-"), names))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if kind := kinds[invalid.GetFlag().Value.Type()]; kind != "" {
			return input.Errorf("--%s %q: expected %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	return input.Errorf("%s: %w", cmd.CommandPath(), err)
}

// kinds describes the values of a flag, by the flag's type.
var kinds = map[string]string{
	"uint64":   fmt.Sprintf("a whole number from 0 to %d", uint64(trial.MaxSeed)),
	"int":      "a whole number",
	"float64":  "a number",
	"duration": "a duration, as 500ms or 2s",
	"bool":     "true or false",
}

func flagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// groupTrialFlags says where the help shows the flags that shape each trial.
func groupTrialFlags(flags *pflag.FlagSet) {
	group(flags, "Each trial", "topology", "nodes", "clients", "keys", "lock-tokens", "ttl", "hold", "rest", "command-timeout", "overrun", "duration", "timeout", "share-links", "clients-trust", "clients-as")
}

// trialFlags declares the flags that shape each trial, with c's values as defaults.
func trialFlags(flags *pflag.FlagSet, c *campaign.Config) {
	flags.StringVar((*string)(&c.Topology), "topology", string(c.Topology), "arrangement of nodes (default the smallest that satisfies recipe and fault)")
	flags.IntVar(&c.Nodes, "nodes", c.Nodes, "nodes of an independent topology (0 = 5)")
	flags.IntVar(&c.Clients, "clients", c.Clients, "clients of a trial (0 = 3, which mixes of faults vary)")
	flags.IntVar(&c.Keys, "keys", c.Keys, "locks that the clients share (0 = 1, which mixes of faults vary)")
	flags.StringVar((*string)(&c.Tokens), "lock-tokens", string(c.Tokens), "tokens of locks whose caller may choose them: drawn, as the lock does by itself, or client, one for all attempts of a client (default drawn)")
	flags.DurationVar(&c.TTL, "ttl", c.TTL, "lease time")
	flags.DurationVar(&c.Hold, "hold", c.Hold, "time in the critical section; each takes 0.5 to 1.5 times as long (0 = ttl/10). It has to be below ttl, except with --overrun and for recipes that renew")
	flags.DurationVar(&c.Rest, "rest", c.Rest, "time between two critical sections (0 = ttl/20)")
	flags.DurationVar(&c.CommandTimeout, "command-timeout", c.CommandTimeout, "how long clients wait for a reply (0 = ttl/2); what exceeds ttl/2 makes the disturbed part of a trial longer by twice as much")
	flags.Float64Var(&c.Overrun, "overrun", c.Overrun, "share of critical sections that last 1.5 ttl; below 0: 0.25 for recipes that renew, else none")
	flags.DurationVar(&c.Duration, "duration", c.Duration, "how long a trial is disturbed; unless chosen, run takes 5 ttl if that is longer")
	flags.DurationVar(&c.Timeout, "timeout", c.Timeout, "time limit of one trial (0 = chosen from the other durations)")
	flags.BoolVar(&c.ShareLinks, "share-links", c.ShareLinks, "on real Redis, all clients share one link to each node, for hundreds of clients: a fault that cuts one off cuts all off")
	flags.BoolVar(&c.Trusting, "clients-trust", c.Trusting, "clients ignore deadlines and lost leases")
	flags.StringVar(&c.ClientsAs, "clients-as", c.ClientsAs, "what clients are: goroutines, which a gate freezes and crashes; or processes, stopped and killed as such, on real Redis only (default goroutines)")
}

// volume is how much a command prints besides its result.
type volume int

// Volumes; the zero value is normal.
const (
	normal volume = iota
	quiet         // nothing but deviations from what is expected
	verbose
)

type volumeFlags struct{ quiet, verbose bool }

// register declares --quiet and --verbose. An empty help text leaves that flag out.
func (f *volumeFlags) register(cmd *cobra.Command, quietHelp, verboseHelp string) {
	if quietHelp != "" {
		cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, quietHelp)
	}
	if verboseHelp != "" {
		cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, verboseHelp)
	}
}

func (f volumeFlags) check() error {
	if f.quiet && f.verbose {
		return input.Errorf("--quiet: --verbose asks for more; expected one of them")
	}
	return nil
}

func (f volumeFlags) volume() volume {
	switch {
	case f.quiet:
		return quiet
	case f.verbose:
		return verbose
	}
	return normal
}
