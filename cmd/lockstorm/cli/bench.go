package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/bench"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

type benchFlags struct {
	bench.Config
	lockList       string
	testbedOptions testbedFlags
	json           bool
	volumeFlags
}

// baseline is the lock that bench compares the others with: one command to acquire, one script to
// release.
const baseline = "set-nx-px"

// benched are bench's default locks. bench omits a lock that has no recipe in this program.
var benched = []string{baseline, "fenced", "redlock", "redsync", "redislock", "rueidislock"}

// benchClients is the default of --clients.
const benchClients = 8

func benchCommand(a *app) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what locks cost, side by side: commands, latency, throughput",
		Long: `Bench measures the cost of locks, and gives the ratio of each figure to that of ` + baseline + `, which is
one SET NX PX and one script, and is always measured in the same run:

  - one client alone: commands and round trips of an acquire and of a release, and
    how long they take. Commands that do not wait for each other's replies, in one
    pipeline or to several nodes, are one round trip. Times are single attempts.
  - --clients that want the lock at once, and hold it for a hundredth of the lease:
    how long they wait, grants a second, commands for each grant.

Fairness, and recovery from crashes and frozen nodes, are in the report of lockstorm run.

Last come the speed of the testbed and of this program, one trial at a time, and
the share of each part.

In the simulation latencies are virtual: a round trip takes 0.1 to 0.4 ms, and
scripts cost a node no time. The same seed prints the same figures on any machine,
byte for byte, except the last lines about speed ("speed" in --json). On real
Redis all figures hold only for this machine and this run.`,
		Example: `  lockstorm bench --locks set-nx-px,redlock,fenced
  lockstorm bench --locks libraries --clients 20 --json
  lockstorm bench --testbed process --duration 2s`,
		Args: expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkTestbedFlags(cmd.Flags(), f.Testbed); err != nil {
				return err
			}
			settle(cmd.Flags(), f.Testbed)
			return a.bench(cmd.Context(), f, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.lockList, "locks", strings.Join(here(benched), ","), "locks to measure: ids, globs, \"all\", \"libraries\" (lockstorm list locks)")
	flags.StringVar(&f.Testbed, "testbed", a.testbeds[0].Name, "where Redis comes from (lockstorm list testbeds)")
	flags.IntVar(&f.Clients, "clients", benchClients, "clients that want the lock at once, at least 2")
	flags.DurationVar(&f.TTL, "ttl", time.Second, "lease time")
	a.testbeds.tellLeases(flags)
	flags.DurationVar(&f.Duration, "duration", 5*time.Second, "how long the lock is used alone, and by all clients; unless chosen, 5 ttl if that is longer")
	flags.IntVar(&f.Nodes, "nodes", 0, "nodes of locks that need independent ones (0 = 5)")
	flags.Uint64Var(&f.Seed, "seed", 1, "seed of all that is random; 0 draws one")
	flags.BoolVar(&f.json, "json", false, "print JSON: all figures, with what each means")
	f.register(cmd, "print the figures only: no progress", "")
	f.testbedOptions.register(flags)
	return cmd
}

// here returns the ids that have a recipe in this program.
func here(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, ok := locks.ByID(id)
		return !ok
	})
}

func (a *app) bench(ctx context.Context, f benchFlags, chosen func(string) bool) (err error) {
	choice, err := a.testbeds.choice(f.Testbed)
	if err != nil {
		return err
	}
	c := f.Config
	if c.Locks, err = campaign.Recipes(strings.Split(f.lockList, ",")); err != nil {
		return err
	}
	var ok bool
	if c.Baseline, ok = locks.ByID(baseline); !ok {
		return fmt.Errorf("this program has no recipe %s, which bench compares with", baseline)
	}
	c.TTL = choice.lease(c.TTL, chosen("ttl"))
	if !chosen("duration") {
		c.Duration = max(c.Duration, durationTTLs*c.TTL)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(trial.MaxSeed) + 1
	}
	f.testbedOptions.intend(campaign.Config{Clients: c.Clients}, choice.Defaults)
	f.testbedOptions.external.Parallel = 1
	tb, done, err := choice.open(ctx, f.testbedOptions)
	if err != nil {
		return err
	}
	r, err := a.measure(ctx, tb, c, f.volume())
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if f.json {
		return printJSON(a.stdout, r)
	}
	return printBench(a.stdout, r, a.width(a.stdout))
}

// measure runs the trials on the open testbed.
func (a *app) measure(ctx context.Context, tb testbed.Testbed, c bench.Config, v volume) (r bench.Report, err error) {
	if c.Nodes, err = nodesOf(tb, c.Nodes); err != nil {
		return r, err
	}
	p := a.newProgress(v)
	p.words = func(s campaign.Progress) []string { return []string{fmt.Sprintf("%v left", p.left(s))} }
	defer p.end()
	r, err = bench.Run(ctx, tb, c, func(done, all int) { p.show(campaign.Progress{Done: done, Total: all}) })
	if why := context.Cause(ctx); err != nil && why != nil {
		return r, why
	}
	return r, err
}
