package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

type runFlags struct {
	campaign.Config
	testbed                  testbedFlags
	client                   commandFlags
	locks, faults, workloads string
	config                   string
	shard                    string
	shards                   int
	json                     bool
	thorough                 bool // every named schedule, instead of the corpus
	volumeFlags
	chosen func(flag string) bool // whether the user gave the flag
}

func runCommand(a *app) *cobra.Command {
	f := runFlags{Config: a.config()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Compare recipes under faults: trials, verdicts, a matrix, a report",
		Long: `Run compares lock recipes under faults. Every recipe meets every fault in a
number of trials; the worst verdict makes the cell of the matrix. First comes a
fault-free trial of each recipe, which shows where in its protocol faults can
strike. The report names for each violated cell the command that replays it; the
terminal shows one of these commands.

Then come the named schedules, which are enumerated and do not depend on the
seed: the fault strikes at each place that the fault-free trial showed. Then come
trials that are drawn from the seed. In the simulation, the program's recipes run
the trials of the corpus, which taught something, and a choice of the others;
--thorough runs all.

Named schedules have as many clients and last as long as they need, whatever the
flags say. Mixes of faults draw for each trial how many clients and locks there are,
how long clients hold and rest, and how many holds overrun, unless a flag sets it.

Names are comma-separated; globs ("set-nx-*") and "all" are names too, and among
workloads "standard": for a lock of your own that is also "extend" if its leases can
be extended, and "cancel" if it waits for its turn. Among locks, "libraries" names
other projects' libraries, which "all" leaves out.`,
		Example: `  lockstorm run --locks set-nx-px,redlock --faults delay
  lockstorm run --locks 'rw-*' --faults none --json
  lockstorm run --testbed process --expect
  lockstorm run --config campaign.yaml --seed 7`,
		Args: expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.config != "" {
				if err := configFlags(cmd.Flags(), f.config); err != nil {
					return err
				}
			}
			if err := cmp.Or(f.check(), checkTestbedFlags(cmd.Flags(), f.Testbed)); err != nil {
				return err
			}
			f.chosen = cmd.Flags().Changed
			settle(cmd.Flags(), f.Testbed)
			f.TestbedFlags = testbedWords(cmd.Flags())
			if err := f.openClient(cmd); err != nil {
				return err
			}
			return a.campaign(cmd.Context(), f)
		},
	}
	a.register(cmd, &f)
	return cmd
}

func (a *app) config() campaign.Config {
	c := campaign.DefaultConfig()
	c.Testbed, c.Trials, c.Parallel = a.testbeds[0].Name, 0, 0
	return c
}

func (a *app) register(cmd *cobra.Command, f *runFlags) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.locks, "locks", "all", "recipes to compare (lockstorm list locks); \"libraries\" are those that wrap libraries, which \"all\" leaves out")
	f.client.register(flags)
	flags.StringVar(&f.faults, "faults", "all", "faults to try them under (lockstorm list faults)")
	flags.StringVar(&f.workloads, "workloads", f.Workloads[0], "what clients do; each recipe gets those that suit it (lockstorm list workloads)")
	flags.StringVar(&f.Testbed, "testbed", f.Testbed, "where Redis comes from (lockstorm list testbeds)")
	trialFlags(flags, &f.Config)
	a.testbeds.tellLeases(flags)
	flags.IntVar(&f.Trials, "trials", f.Trials, "trials to draw in each cell and workload ("+a.testbeds.defaults(trialsOf)+"; where the corpus chooses, 3 or 64 in each cell)")
	flags.BoolVar(&f.thorough, "thorough", false, "run every named schedule, and all drawn trials in every cell, instead of the corpus and what it does not know (some four times as many trials)")
	flags.BoolVar(&f.Named, "named", false, "run every named schedule before the trials that are drawn, without the corpus; =false: none ("+a.testbeds.namedDefaults()+"; where the corpus chooses, some)")
	flags.BoolVar(&f.NamedOnly, "named-only", false, "run only the named schedules and draw no trials, so the findings depend on no seed")
	flags.IntVar(&f.Sweep, "sweep", 0, "also vary the length of pauses and the error of clocks, up to three leases, and strike this many times with each size at each place: the report shows from which size on each recipe breaks")
	flags.StringVar(&f.Confirm, "confirm", "", "directory of a stored campaign: run the trials that showed its flaws, --trials for each flaw, instead of new ones")
	flags.DurationVar(&f.Budget, "budget", f.Budget, "after the planned trials draw more, in rounds, until this much time is over, such as 8h; in the simulation only")
	flags.Uint64Var(&f.Seed, "seed", f.Seed, "seed of the campaign; 0 draws one")
	flags.StringVar(&f.shard, "shard", "", "run only one part of the campaign, such as 2/8; lockstorm merge puts the parts together; default: the environment's value (docs/scale.md)")
	flags.IntVar(&f.shards, "shards", 0, "number of shards, if the environment has only this shard's number")
	flags.IntVar(&f.Parallel, "parallel", f.Parallel, "trials at a time ("+a.testbeds.defaults(parallelOf)+")")
	flags.StringVar(&f.Store, "store", f.Store, "directory that campaigns are stored in")
	flags.StringVar(&f.Name, "name", f.Name, "the campaign's name in the store")
	flags.IntVar(&f.Shrink, "shrink", shrinkTrials, "trials in which to look for the smallest trial of each violated cell; 0 = not at all (only on virtual time)")
	flags.BoolVar(&f.Keep, "keep", f.Keep, "keep the histories of trials without a violation too")
	flags.BoolVar(&f.Monitor, "monitor", f.Monitor, "on real Redis, store with each trial a log of all commands that its nodes execute, including those that scripts call (logs/monitor-n0.log); commands then take about 1.4 times as long")
	flags.BoolVar(&f.Clean, "clean", f.Clean, "only the cells for which the recipe declares no flaw, to look for false alarms")
	flags.BoolVar(&f.Expect, "expect", f.Expect, "exit 1 if a declared flaw or a fact of the corpus was missed, an undeclared flaw was found, or a fault hit nothing; 2 if a recipe has changed since the corpus was made")
	flags.BoolVar(&f.json, "json", false, "print matrix.json instead of the matrix")
	f.register(cmd, "print only unexpected results: no progress, no matrix", "also print a line for each trial")
	f.testbed.register(flags)
	flags.StringVar(&f.config, "config", "", "file with these flags' names and values, in YAML or JSON; flags on the command line take precedence")
	groupRunFlags(flags)
}

func groupRunFlags(flags *pflag.FlagSet) {
	group(flags, "What is compared", "locks", "client", "client-id", "faults", "workloads", "testbed", "clean", "confirm")
	group(flags, "How many trials", "thorough", "trials", "named", "named-only", "sweep", "budget", "seed", "parallel", "shard", "shards")
	groupTrialFlags(flags)
	group(flags, "What is stored and printed", "store", "name", "keep", "monitor", "shrink", "expect", "json", "quiet", "verbose", "config")
}

// campaign runs the campaign that the flags describe and prints the outcome.
func (a *app) campaign(ctx context.Context, f runFlags) error {
	choice, err := a.testbeds.choice(f.Testbed)
	if err != nil {
		return err
	}
	c, err := a.chosen(f, choice)
	if err != nil {
		return err
	}
	f.testbed.intend(c, choice.Defaults)
	tb, done, err := choice.open(ctx, f.testbed)
	if err != nil {
		return err
	}
	ready, err := a.prepare(c, choice, tb)
	if err != nil {
		_ = done() // err already says more than an error of closing would
		return err
	}
	result, err := a.watch(ctx, ready, f.volume())
	closing := done()
	if err == nil && (f.json || !f.quiet) {
		err = a.print(result.Matrix, f.json)
	}
	if err != nil {
		return withStored(errors.Join(err, closing), result)
	}
	// Even if closing the testbed fails, the result of the trials is printed.
	return cmp.Or(closing, a.outcome(ctx, result, f.json, f.volume()))
}

// campaignGC is the value of GOGC in the process that plans and reports a campaign, unless the user sets
// GOGC. A low value saves memory; most processor time goes to the trials, which run in other processes.
const campaignGC = 50

// watch runs the campaign and shows its progress. After a first SIGINT, running trials finish.
func (a *app) watch(ctx context.Context, ready campaign.Campaign, v volume) (campaign.Stored, error) {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(campaignGC))
	}
	p := a.newProgress(v)
	ready.Progress, ready.Stop = p.show, a.interrupts.gently()
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-ready.Stop:
			p.note("lockstorm: no more trials start; those under way finish; another Ctrl-C stops them")
		case <-done:
		}
	})
	result, err := ready.Run(ctx)
	close(done)
	waiting.Wait()
	p.end()
	return result, err
}

// chosen returns the configuration that the flags describe. Unset values come from the testbed's
// defaults.
func (a *app) chosen(f runFlags, choice testbedChoice) (campaign.Config, error) {
	c := f.Config
	c.Locks, c.Faults, c.Workloads = strings.Split(f.locks, ","), strings.Split(f.faults, ","), strings.Split(f.workloads, ",")
	var err error
	if c.Shard, err = a.shard(f); err != nil {
		return c, err
	}
	if c.Seed == 0 {
		if c.Shard.Part() {
			return c, input.Errorf("--seed 0: expected a seed with shard %s, since otherwise each shard draws its own seed", c.Shard)
		}
		c.Seed = rand.Uint64N(trial.MaxSeed) + 1
	}
	c.TTL = choice.lease(c.TTL, f.chosen("ttl"))
	if f.chosen("ttl") && !f.chosen("duration") {
		c.Duration = max(c.Duration, durationTTLs*c.TTL) // in a shorter trial no plan might fit
	}
	if f.thorough && (f.chosen("named") || c.Confirm != "" || !choice.Defaults.Named) {
		return c, input.Errorf("--thorough: expected testbed %s, without --named or --confirm", a.testbeds[0].Name)
	}
	c.Corpus = choice.Defaults.Named && !f.thorough && !f.chosen("named") && !f.chosen("sweep") && !c.NamedOnly && c.Confirm == ""
	if !f.chosen("named") {
		c.Named = (choice.Defaults.Named || c.NamedOnly) && c.Confirm == "" && !c.Corpus
	}
	c.Shrink, err = a.shrinks(c.Shrink, f.chosen("shrink"), choice)
	return c, err
}

// durationTTLs is the least --duration, in lease times, if the user chooses only --ttl; for bench, if
// the user does not choose --duration. It is the ratio of the default duration to the default lease
// time.
const durationTTLs = 5

// prepare returns a campaign that will run configuration c on the open testbed tb.
func (a *app) prepare(c campaign.Config, choice testbedChoice, tb testbed.Testbed) (ready campaign.Campaign, err error) {
	if c.Nodes, err = nodesOf(tb, c.Nodes); err != nil {
		return ready, err
	}
	if c.Monitor && (choice.Virtual || !slices.Contains(tb.Capabilities(), testbed.CanNodes)) {
		return ready, input.Errorf("--monitor: testbed %s runs no servers whose commands could be logged", choice.Name)
	}
	v, err := choice.versions(tb)
	if err != nil {
		return ready, err
	}
	worker, err := choice.worker()
	if err != nil {
		return ready, err
	}
	if c.ClientCommand, err = clientProgram(c.ClientsAs); err != nil {
		return ready, err
	}
	var list corpus.List
	if c.Corpus {
		if list, err = corpus.Builtin(); err != nil {
			return ready, err
		}
	}
	prefix := ""
	if shared, ok := tb.(interface{ Prefix() string }); ok {
		prefix = shared.Prefix()
	}
	return campaign.Campaign{
		Config:   c,
		Command:  wording.Command(append([]string{"lockstorm"}, a.args...)...),
		Versions: v,
		Prefix:   prefix,
		Testbed:  tb,
		Corpus:   list,
		Worker:   worker,
		Defaults: choice.Defaults,
		NewSink:  func(dir string) (campaign.Sink, error) { return reports.New(dir) },
	}, nil
}

// withStored adds the directory of the finished trials to an error that ended a campaign early.
func withStored(err error, s campaign.Stored) error {
	if len(s.Trials) == 0 {
		return err
	}
	return fmt.Errorf("%w; the %s that came before can be read in %s", err, count(len(s.Trials), "trial"), s.Dir)
}

func (a *output) print(m campaign.Matrix, asJSON bool) error {
	if asJSON {
		return printJSON(a.stdout, m)
	}
	return reports.Matrix(a.stdout, m, a.screen(a.stdout))
}

// outcome prints the remarks that follow the matrix, and returns the exit code.
func (a *app) outcome(ctx context.Context, s campaign.Stored, asJSON bool, v volume) error {
	out := a.stdout
	if asJSON {
		out = a.stderr // stdout is for other programs
	}
	a.discrepancies(out, s)
	if v != quiet {
		a.asExpected(out, s)
		for _, line := range append(throughput(s), s.Info.CorpusLines()...) {
			a.say(out, "%s", line)
		}
		if !asJSON {
			if err := reports.Answers(out, s, a.screen(out)); err != nil {
				return err
			}
			a.notRun(out, s)
			a.say(out, "report: %s", filepath.Join(s.Dir, reports.HTMLFile))
		}
		a.firstLook(out, s)
	}
	a.github(s)
	if why, ok := a.interrupts.cause(ctx); ok && s.Matrix.Interrupted {
		a.say(a.stderr, "lockstorm: %v; finished trials are in %s: %s", why, s.Dir, count(len(s.Trials), "trial"))
		return exit(why.code())
	}
	if code := s.Matrix.ExitCode(s.Info.Config.Expect); code != campaign.ExitExpected {
		return exit(code)
	}
	return nil
}

// discrepancies prints undeclared, doubtful and confirmed flaws; with --expect also declared
// flaws that were not found and faults that hit nothing; and, on stderr, failed trials.
func (a *output) discrepancies(w io.Writer, s campaign.Stored) {
	for _, u := range s.Matrix.Unexpected {
		a.say(w, "not declared: %s under %s: %s violated (%s)%s", u.Lock, u.Fault, u.Oracle, u.Cause, at(s.Dir, u.Dir))
	}
	a.impatientLease(w, s)
	for _, d := range s.Matrix.Doubtful {
		a.say(w, "undecided: %s under %s: %s%s", d.Lock, d.Fault, d.Words(), at(s.Dir, d.Dir))
	}
	a.corpusFacts(w, s)
	if n, of := s.Confirmed(); of > 0 {
		a.say(w, "confirmed: %d of %d flaws, counted by recipe, fault, oracle and cause, showed here too", n, of)
	}
	if s.Info.Config.Expect {
		for _, m := range s.Matrix.Missed {
			hint := ""
			if n := s.TooFew(m); n > 0 {
				hint = fmt.Sprintf(": missed in %d trials; more --trials may find it", n)
				if n == 1 {
					hint = ": missed in 1 trial; more --trials may find it"
				}
			}
			found := "not found"
			if m.Hidden {
				found, hint = "undecided", ": "+campaign.Hiding
			}
			a.say(w, "declared but %s: %s: %s (%s), looked for under %s%s", found, m.Lock, m.Oracle, m.Cause, m.Fault, hint)
		}
		for _, c := range s.Matrix.NotExercised() {
			a.say(w, "not exercised: %s under %s: the fault hit nothing in %s", c.Lock, c.Fault, count(c.Trials, "trial"))
		}
	}
	for _, t := range s.Matrix.Failed {
		a.say(a.stderr, "lockstorm: %s of %s under %s (%s) failed: %s%s",
			t.Spec.Title(), t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, oneLine(errors.New(t.Err)), at(s.Dir, t.Dir))
	}
}

// ownPatience is how long typical Redis clients wait for a reply by default, including retries:
// go-redis waits 5 s and sends a command up to four times.
const ownPatience = 20 * time.Second

func at(store, dir string) string {
	if dir == "" {
		return ""
	}
	return ": " + filepath.Join(store, dir)
}

// printJSON writes v in the format of matrix.json.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
