package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	measured "github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/trial"
)

type replayFlags struct {
	campaign.Config
	testbed               testbedFlags
	client                commandFlags
	lock, fault, workload string
	trial                 int
	schedule              string
	hash, out             string
	remedies              []string
	json                  bool
	volumeFlags
}

func replayCommand(a *app) *cobra.Command {
	f := replayFlags{Config: a.config()}
	cmd := &cobra.Command{
		Use:   "replay [DIR]",
		Short: "Run one trial again: a stored trial, or one that the flags name",
		Long: `Replay runs one trial again and tells what happened in it: the trial of a
stored folder, or the one that a campaign with these flags would run. On a
testbed with virtual time it is the same trial, byte for byte, on any machine;
the hash of its history and commands says so. Locks with behaviour that the
simulation cannot repeat are an exception, and reports name them. On real Redis
every history is different: the plan is the same, its effects may differ.

With a folder, the trial's hash is compared with the one in verdict.json, and with
the hash of the files in the folder. Without a folder, --hash gives the expected hash.

With --remedy, the same trial runs with a remedy in force that the lock does not
have (lockstorm list remedies). The first line says whether the violation is gone.
Otherwise, and without --quiet and --json, all remedies are tried on a violated
trial of the simulation, and the story tells those that help.`,
		Example: `  lockstorm replay docs/counterexamples/redlock-client-pause
  lockstorm replay --lock set-nx-px --fault client-pause
  lockstorm replay --lock redlock --fault chaos --seed 7
  lockstorm replay --lock setnx-expire --remedy no-orphan`,
		Args: expectArgs(0, 1, "the folder of a stored trial, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags(), args); err != nil {
				return err
			}
			id, err := f.client.open(cmd.Context(), f.Testbed)
			if err != nil {
				return err
			}
			f.lock = cmp.Or(f.lock, id)
			return a.replay(cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.lock, "lock", "", "the recipe (lockstorm list locks)")
	f.client.register(flags)
	flags.StringVar(&f.fault, "fault", "none", "the fault (lockstorm list faults)")
	flags.StringVar(&f.workload, "workload", "", "what clients do (lockstorm list workloads; default the first that suits the recipe)")
	flags.Uint64Var(&f.Seed, "seed", f.Seed, "seed of the campaign")
	flags.IntVar(&f.trial, "trial", 0, "number of the trial in its cell, from 0")
	flags.StringVar(&f.schedule, "schedule", "", "the named schedule to run instead, whatever the seed")
	flags.StringVar(&f.Testbed, "testbed", f.Testbed, "where Redis comes from (lockstorm list testbeds; with DIR default the one that the trial ran on)")
	trialFlags(flags, &f.Config)
	a.testbeds.tellLeases(flags)
	f.testbed.register(flags)
	flags.StringSliceVar(&f.remedies, "remedy", nil, "remedies to put in force (lockstorm list remedies); simulation only")
	flags.StringVar(&f.hash, "hash", "", fmt.Sprintf("the hash to compare with, or its first digits, at least %d", fewestDigits))
	flags.StringVar(&f.out, "out", "", "directory to write the trial to: history, commands, verdict, timeline, story")
	f.register(cmd, "print only whether the history is the same", "print every command when it is known how it ended, then what the fault did")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	group(flags, "Which trial", "lock", "client", "client-id", "fault", "workload", "seed", "trial", "schedule", "testbed", "remedy")
	groupTrialFlags(flags)
	group(flags, "What is compared and printed", "hash", "out", "quiet", "verbose", "json")
	return cmd
}

// besideFolder are the flags that may be given together with a folder: they do not define the
// trial.
var besideFolder = []string{"client", "client-id", "testbed", "remedy", "hash", "out", "quiet", "verbose", "json"}

// fewestDigits is how many digits of a hash are enough to identify a history.
const fewestDigits = 8

// check returns an input.Error if the flags do not name exactly one trial, or if a flag has an
// invalid value.
func (f replayFlags) check(flags *pflag.FlagSet, args []string) error {
	if err := f.volumeFlags.check(); err != nil {
		return err
	}
	if strings.Trim(f.hash, "0123456789abcdefABCDEF") != "" || flags.Changed("hash") && (len(f.hash) < fewestDigits || len(f.hash) > 2*sha256.Size) {
		return input.Errorf("--hash %q: expected %d to %d hexadecimal digits", f.hash, fewestDigits, 2*sha256.Size)
	}
	if len(args) == 0 {
		switch {
		case f.lock == "" && f.client.client == "":
			return input.Errorf("lockstorm replay: expected the folder of a stored trial, or --lock and --fault")
		case f.trial < 0:
			return input.Errorf("--trial %d: expected at least 0", f.trial)
		case f.schedule != "" && flags.Changed("trial"):
			return input.Errorf("--trial %d: --schedule %s says which trial it is; expected one of them", f.trial, f.schedule)
		}
		return nil
	}
	var surplus error
	flags.Visit(func(flag *pflag.Flag) {
		if surplus == nil && !slices.Contains(besideFolder, flag.Name) && !ofTestbed(flag) {
			surplus = input.Errorf("--%s: %s says what the trial is; expected only --testbed, --remedy, --hash, --out, --quiet, --verbose and --json with a folder", flag.Name, args[0])
		}
	})
	return surplus
}

// suitable returns the usual workload of the recipe; "mutex" if the recipe is unknown or none suits it.
func (f replayFlags) suitable() string {
	if r, ok := locks.ByID(f.lock); ok {
		if w, ok := campaign.UsualWorkload(r.Claims(f.TTL, max(1, f.Nodes))); ok {
			return w.Name
		}
	}
	return "mutex"
}

func (f replayFlags) plan(ctx context.Context, tb testbed.Testbed) (trial.Spec, error) {
	workload := cmp.Or(f.workload, f.suitable())
	if f.schedule != "" {
		return campaign.PlanNamed(ctx, tb, f.Config, f.lock, f.fault, workload, f.schedule)
	}
	return campaign.PlanTrial(ctx, tb, f.Config, f.lock, f.fault, workload, f.trial)
}

// before returns the stored trial if a folder is given, else the zero value.
func (f replayFlags) before(args []string) (stored, error) {
	if len(args) == 0 {
		return stored{}, nil
	}
	s, err := readStored(args[0])
	if err == nil {
		err = s.nameable(args[0])
	}
	if err == nil && sameDirectory(args[0], f.out) {
		err = input.Errorf("--out %s: that is the trial that is replayed; expected another directory", f.out)
	}
	return s, err
}

// replayed is the output of lockstorm replay --json.
type replayed struct {
	Spec     trial.Spec         `json:"spec"`
	Outcome  trial.Outcome      `json:"outcome"`
	Kind     locks.Kind         `json:"kind"`
	Flaws    []trial.Flaw       `json:"flaws"`
	Verdicts []checker.Verdict  `json:"verdicts"`
	Hits     int                `json:"hits"`
	Acted    *remedy.Acted      `json:"acted,omitempty"` // what the remedies did
	Ops      int                `json:"ops"`
	Commands int                `json:"commands"`
	Keys     int                `json:"keys"` // key changes
	Hash     string             `json:"hash"`
	Progress *measured.Measures `json:"progress,omitempty"`
	// Expected is the expected hash, "" if unknown. Same says whether the hash matched, or would
	// have matched with the stored names of random tokens.
	Expected string `json:"expected"`
	Same     bool   `json:"same"`
	// Differs says how the stored files differ from the history that the run judged; "" if they do
	// not differ or there are no stored files.
	Differs string `json:"storedFilesDiffer,omitempty"`
	Dir     string `json:"dir,omitempty"`
}

func (a *app) replay(cmd *cobra.Command, f *replayFlags, args []string) (err error) {
	ctx := cmd.Context()
	before, err := f.before(args)
	if err != nil {
		return err
	}
	hash := cmp.Or(strings.ToLower(f.hash), before.hash)
	choice, tb, done, err := a.openReplay(cmd, f, args, before.spec)
	if err != nil {
		return err
	}
	defer func() { err = afterClosing(err, done()) }() // the result is reported even if closing the testbed fails
	if f.Nodes, err = nodesOf(tb, f.Nodes); err != nil {
		return err
	}
	if f.ClientCommand, err = clientProgram(f.ClientsAs); err != nil {
		return err
	}
	r := campaign.Replay{Testbed: tb, Spec: before.spec, Dir: f.out, Try: len(f.remedies)+len(before.spec.Remedies) == 0 && !f.quiet && !f.json}
	comparable := choice.Virtual && len(f.remedies) == 0 && (len(args) == 0 || before.spec.Testbed == choice.Name)
	if len(args) == 0 {
		if r.Spec, err = f.plan(ctx, tb); err != nil {
			return err
		}
	}
	if r.Spec.Testbed = choice.Name; len(f.remedies) > 0 {
		hash, r.Spec.Remedies = "", f.remedies
	}
	if r.Spec.ClientCommand, err = clientProgram(r.Spec.ClientsAs); err != nil {
		return err
	}
	if r.Worker, err = choice.worker(); err != nil {
		return err
	}
	result, evidence, err := a.runReplay(ctx, r, f)
	if err != nil {
		return err
	}
	x := comparison{expected: hash, got: result.Hash, stored: f.hash == "", comparable: comparable, differs: before.differs, foreign: !campaign.Ours(r.Spec.Lock)}
	if len(args) > 0 {
		x.beside(args[0], evidence)
	}
	if len(args) == 0 && f.schedule == "" {
		x.campaignSeed = f.Seed
	}
	if len(f.remedies) > 0 && !f.json {
		if err := a.whetherGone(ctx, r, result); err != nil {
			return err
		}
	}
	if err := a.showReplay(*f, result, evidence, x); err != nil {
		return err
	}
	return x.verdict(a.stderr, args)
}

// runReplay runs the trial, stores it if --out is set, and prints its commands and faults if
// --verbose is set.
func (a *app) runReplay(ctx context.Context, r campaign.Replay, f *replayFlags) (trial.Result, history.Evidence, error) {
	if f.verbose {
		r.Log = func(c history.Command) { fmt.Fprintln(a.notes(f.json), story.CommandLine(c)) }
	}
	result, evidence, err := r.Run(ctx)
	if why := context.Cause(ctx); why != nil {
		return result, evidence, why
	}
	if err == nil && f.out != "" {
		err = reports.Trial(f.out, result, evidence)
	}
	if err == nil && f.verbose {
		fmt.Fprintf(a.notes(f.json), "\n%s\n\n", strings.Join(story.FaultLines(evidence.Ops), "\n"))
	}
	return result, evidence, err
}

// whetherGone says in a line what the remedies of the spec do about the violation that the trial shows without them.
func (a *app) whetherGone(ctx context.Context, r campaign.Replay, treated trial.Result) error {
	names := r.Spec.Remedies
	r.Spec.Remedies = nil
	x, why, flaws, err := r.Remedy(ctx, names...)
	if err != nil {
		return err
	}
	text := string(why) // for any other reason, nothing was compared
	switch {
	case !flaws:
		text = "the trial shows no violation without it"
	case why == "":
		text = x.Words()
	case why == remedy.InVain:
		text += ": " + x.Words()
	}
	a.say(a.stdout, "with %s: %s; it acted %d %s", wording.List(names), text, treated.Acted.Times, wording.Plural(treated.Acted.Times, "time"))
	return nil
}

// openReplay opens the trial's testbed. A trial from a folder runs on its original testbed with
// the original image or servers, unless flags say otherwise.
func (a *app) openReplay(cmd *cobra.Command, f *replayFlags, args []string, before trial.Spec) (choice testbedChoice, tb testbed.Testbed, done func() error, err error) {
	flags, was := cmd.Flags(), ""
	if len(args) > 0 {
		if !flags.Changed("testbed") {
			f.Testbed = before.Testbed
		}
		if was, err = recallTrial(flags, args[0], f.Testbed); err != nil {
			return choice, nil, nil, err
		}
	}
	if choice, err = a.testbeds.choice(f.Testbed); err != nil {
		return choice, nil, nil, err
	}
	if err := checkTestbedFlags(flags, choice.Name); err != nil {
		return choice, nil, nil, err
	}
	f.TTL = choice.lease(f.TTL, flags.Changed("ttl"))
	f.testbed.intend(f.Config, campaign.Defaults{})
	if was != "" && was != f.testbed.container.Image {
		fmt.Fprintf(a.stderr, "lockstorm: the trial was run on image %s, and is replayed on %s\n", was, f.testbed.container.Image)
	}
	tb, done, err = choice.open(cmd.Context(), f.testbed)
	if err != nil && was != "" && was == f.testbed.container.Image {
		err = fmt.Errorf("%w; it is the image that the trial was run on: --image names another", err)
	}
	return choice, tb, done, err
}

// recallTrial sets the testbed's own flags as the stored trial's campaign had them, if the
// campaign ran on the same testbed. It returns the image that the trial ran on; "" if there was
// none or it is unknown.
func recallTrial(flags *pflag.FlagSet, folder, testbed string) (image string, err error) {
	dir := campaign.CampaignOf(folderOf(folder))
	if _, err := os.Stat(filepath.Join(dir, campaign.CampaignFile)); errors.Is(err, fs.ErrNotExist) {
		return "", nil // the folder belongs to no campaign
	}
	info, err := campaign.LoadInfo(dir)
	if err != nil || info.Config.Testbed != testbed {
		return "", err // another testbed: its flags and image do not apply
	}
	for _, word := range info.Config.TestbedFlags {
		if v, ok := strings.CutPrefix(word, "--"+imageFlag+"="); ok {
			image = v
		}
	}
	return image, recall(flags, info.Config.TestbedFlags)
}

func (a *app) showReplay(f replayFlags, t trial.Result, e history.Evidence, x comparison) error {
	if f.json {
		r := replayed{
			Spec: t.Spec, Outcome: t.Outcome, Kind: t.Kind, Flaws: t.Flaws, Verdicts: t.Verdicts, Hits: t.Hits, Acted: t.Acted,
			Ops: t.Ops, Commands: t.Commands, Keys: t.Keys, Hash: t.Hash, Progress: t.Progress, Expected: x.expected, Same: x.same(), Dir: f.out,
		}
		if x.differs != nil {
			r.Differs = x.differs.Error()
		}
		return printJSON(a.stdout, r)
	}
	if f.quiet {
		if t.Acted == nil {
			a.say(a.stdout, "%s", x.words())
		}
		return nil
	}
	a.say(a.stdout, "%s under %s, %s, %s, %s, on testbed %s (%s): %d operations, %d commands",
		t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, t.Spec.Title(), x.seeds(t.Spec), t.Spec.Testbed, t.Spec.Topology, t.Ops, t.Commands)
	a.say(a.stdout, "hash %s", t.Hash)
	if t.Acted == nil {
		a.say(a.stdout, "%s", x.words())
	}
	fmt.Fprintln(a.stdout)
	a.verdicts(t)
	if t.Progress != nil {
		if cost := reports.Cost(*t.Progress); cost != "" {
			a.say(a.stdout, "cost: %s", cost)
		}
	}
	fmt.Fprintln(a.stdout)
	err := reports.Tell(a.stdout, t, e, a.width(a.stdout))
	if f.out != "" {
		fmt.Fprintln(a.stdout)
		a.say(a.stdout, "written to %s", f.out)
	}
	return err
}

// notes returns the writer for remarks besides the result.
func (a *output) notes(asJSON bool) io.Writer {
	if asJSON {
		return a.stderr
	}
	return a.stdout
}
