package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// corpusFolder has the lists of the program's own recipes, in a clone of the repository.
const corpusFolder = "campaign/corpus/lists"

func corpusCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "corpus",
		Short: "Make the corpus, or tell what this build says differently",
		Long: `The corpus is a list of trials that taught something: for each flaw of each recipe
under each fault, and for each verdict, a trial that shows it. lockstorm run begins
with these trials.`,
		Example: `  lockstorm corpus diff
  lockstorm corpus make --locks my-new-recipe`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return input.Errorf("lockstorm corpus: expected make, diff or record, got %q", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(corpusMakeCommand(a), corpusDiffCommand(a), corpusRecordCommand(a))
	return cmd
}

func corpusMakeCommand(a *app) *cobra.Command {
	c := a.config()
	var chosen, seeds, out string
	cmd := &cobra.Command{
		Use:   "make",
		Short: "Write the corpus anew, from thorough campaigns",
		Long: `Make runs every named schedule of the chosen recipes, and the drawn trials of each
seed. It then chooses few trials that together show everything that all of them
showed, shrinks for each violated cell the trial that reports show, and writes one
file for each recipe. Files of other recipes stay as they are. If it runs all recipes,
it also writes order.txt: the named schedules, those that taught most first, in which
order a lock that is not in the corpus is tested.`,
		Example: `  lockstorm corpus make
  lockstorm corpus make --locks my-new-recipe`,
		Args: expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []uint64
			for text := range strings.SplitSeq(seeds, ",") {
				seed, err := strconv.ParseUint(strings.TrimSpace(text), 10, 53)
				if err != nil || seed == 0 {
					return input.Errorf("--seeds %q: expected whole numbers from 1, with commas between", seeds)
				}
				all = append(all, seed)
			}
			if c.Shrink < 1 {
				return input.Errorf("--shrink %d: expected at least 1", c.Shrink)
			}
			c.Locks = strings.Split(chosen, ",")
			return a.makeCorpus(cmd.Context(), c, all, out)
		},
	}
	cmd.Flags().StringVar(&chosen, "locks", "all", "recipes (lockstorm list locks)")
	cmd.Flags().StringVar(&seeds, "seeds", "1,777,4242", "seeds of the drawn trials")
	cmd.Flags().IntVar(&c.Shrink, "shrink", shrinkTrials, "trials in which to look for each smallest trial")
	cmd.Flags().IntVar(&c.Parallel, "parallel", c.Parallel, "trials at a time ("+a.testbeds.defaults(parallelOf)+")")
	cmd.Flags().StringVar(&out, "out", corpusFolder, "directory of the lists, which exists")
	return cmd
}

// simulated returns a campaign in the simulation with configuration c and the corpus.
func (a *app) simulated(ctx context.Context, c campaign.Config, list corpus.List) (ready campaign.Campaign, err error) {
	err = a.onTestbed(ctx, c.Testbed, func(choice testbedChoice, tb testbed.Testbed) error {
		ready, err = a.prepare(c, choice, tb)
		return err
	})
	ready.Corpus = list
	return ready, err // the testbed is closed: the simulation has nothing to close
}

func (a *app) makeCorpus(ctx context.Context, c campaign.Config, seeds []uint64, out string) (err error) {
	before, err := corpus.Read(os.DirFS(out))
	if err != nil {
		fmt.Fprintf(a.stderr, "lockstorm: %v: all smallest trials are searched for anew\n", err)
	}
	if _, err := os.Stat(out); err != nil {
		return input.Errorf("--out %s: %w: expected the lists in a clone of the repository", out, errors.Unwrap(err))
	}
	if c.Store, err = os.MkdirTemp("", "lockstorm-corpus-"); err != nil {
		return fmt.Errorf("make a corpus: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.Store)) }()
	ready, err := a.simulated(ctx, c, before)
	if err != nil {
		return err
	}
	p := a.newProgress(normal)
	ready.Progress = func(s campaign.Progress) { s.Trial = nil; p.show(s) }
	list, order, err := ready.MakeCorpus(ctx, seeds, p.note)
	p.end()
	if err != nil {
		return err
	}
	made := locksOf(list)
	for _, lock := range made {
		of := slices.DeleteFunc(slices.Clone(list), func(l corpus.Line) bool { return l.Lock != lock })
		text, err := of.Marshal()
		if err != nil {
			return err
		}
		if err := packed.Replace(filepath.Join(out, lock+".jsonl"), text); err != nil {
			return fmt.Errorf("make a corpus: %w", err)
		}
	}
	// Some recipes say less about the order than all of them.
	if whole(made) {
		if err := packed.Replace(filepath.Join(out, corpus.OrderFile), corpus.MarshalOrder(order)); err != nil {
			return fmt.Errorf("make a corpus: %w", err)
		}
	}
	a.say(a.stdout, "%s of %s in %s; the next build has them", count(len(list), "trial"), count(len(made), "recipe"), out)
	a.tellUndeclared(list)
	return nil
}

// whole says whether these are all recipes that the corpus has: all but those of libraries.
func whole(made []string) bool {
	return !slices.ContainsFunc(locks.All(), func(r locks.Recipe) bool { return r.Library == "" && !slices.Contains(made, r.ID) })
}

// tellUndeclared names the recipes whose lists have flaws that the recipe does not declare.
func (a *output) tellUndeclared(list corpus.List) {
	trials := map[string]int{}
	for _, l := range list {
		if slices.ContainsFunc(l.Facts(), corpus.IsUndeclared) {
			trials[l.Lock]++
		}
	}
	for _, lock := range slices.Sorted(maps.Keys(trials)) {
		a.say(a.stdout, "  %s: %s show flaws that the recipe does not declare", lock, count(trials[lock], "trial"))
	}
}

func locksOf(list corpus.List) (ids []string) {
	for _, l := range list {
		ids = append(ids, l.Lock)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func corpusDiffCommand(a *app) *cobra.Command {
	c := a.config()
	var chosen, faults, recorded string
	var histories bool
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Tell, fact by fact, what this build says differently from the corpus",
		Long: `Diff runs every trial of the corpus again, and says what comes out differently:
verdict, cause, broken assumption, smallest trial. It also judges the
trials that were recorded on real Redis, from their files. Other bytes of
histories alone are no difference.`,
		Example: `  lockstorm corpus diff
  lockstorm corpus diff --locks 'redlock*' --histories`,
		Args: expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Locks, c.Faults = strings.Split(chosen, ","), strings.Split(faults, ",")
			return a.diffCorpus(cmd.Context(), c, recorded, histories)
		},
	}
	cmd.Flags().StringVar(&chosen, "locks", "all", "recipes (lockstorm list locks)")
	cmd.Flags().StringVar(&faults, "faults", "all", "faults (lockstorm list faults)")
	cmd.Flags().IntVar(&c.Parallel, "parallel", c.Parallel, "trials at a time ("+a.testbeds.defaults(parallelOf)+")")
	cmd.Flags().StringVar(&recorded, "recorded", corpus.RecordedList, "list of recorded trials, in a clone of the repository; \"\" = judge none")
	cmd.Flags().BoolVar(&histories, "histories", false, "also name the trials whose history has other bytes")
	return cmd
}

func (a *app) diffCorpus(ctx context.Context, c campaign.Config, recorded string, histories bool) error {
	list, err := corpus.Builtin()
	if err != nil {
		return err
	}
	ready, err := a.simulated(ctx, c, list)
	if err != nil {
		return err
	}
	stored, err := chosenRecorded(c, recorded)
	if err != nil {
		return err
	}
	p := a.newProgress(normal)
	said, err := ready.Say(ctx, func(done, all int) { p.show(campaign.Progress{Done: done, Total: all}) })
	p.end()
	if err != nil {
		return err
	}
	for _, r := range stored {
		said = append(said, campaign.SayRecorded(ctx, r.Folder, r.Line))
	}
	return a.tellDifferences(said, histories)
}

// chosenRecorded reads the list of recorded trials, and returns those of the chosen recipes and faults; with
// "all", also those of recipes that are no longer registered. An empty path is an empty list.
func chosenRecorded(c campaign.Config, path string) ([]corpus.Recorded, error) {
	if path == "" {
		return nil, nil
	}
	stored, err := corpus.ReadRecorded(path)
	if err != nil {
		return nil, err
	}
	var ids, faults []string
	for _, r := range stored {
		ids, faults = append(ids, r.Lock), append(faults, r.Fault)
	}
	for _, r := range locks.All() {
		ids = append(ids, r.ID)
	}
	for _, f := range nemesis.All() {
		faults = append(faults, f.Name)
	}
	slices.Sort(ids)
	slices.Sort(faults)
	ids, faults = slices.Compact(ids), slices.Compact(faults)
	if ids, err = campaign.Choose("lock", c.Locks, ids); err != nil {
		return nil, err
	}
	if faults, err = campaign.Choose("fault", c.Faults, faults); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(stored, func(r corpus.Recorded) bool {
		return !slices.Contains(ids, r.Lock) || !slices.Contains(faults, r.Fault)
	}), nil
}

// tellDifferences prints what differs, and returns exit code 1 if a fact does.
func (a *output) tellDifferences(said []campaign.Saying, histories bool) error {
	differ, bytes := 0, 0
	for _, s := range said {
		news := s.Differences()
		told := slices.DeleteFunc(slices.Clone(news), func(d campaign.Difference) bool { return d.History && !histories })
		if slices.ContainsFunc(news, func(d campaign.Difference) bool { return d.History }) {
			bytes++
		}
		if slices.ContainsFunc(news, func(d campaign.Difference) bool { return !d.History }) {
			differ++
		}
		if len(told) == 0 {
			continue
		}
		a.say(a.stdout, "%s: %s", s.Line.At(), s.Line.Title())
		for _, d := range told {
			sign := "+"
			if d.Gone {
				sign = "-"
			}
			a.say(a.stdout, "  %s %s: %s", sign, d.What, d.Text)
		}
	}
	a.say(a.stdout, "%d of %s say something else; %d have a history of other bytes", differ, count(len(said), "trial"), bytes)
	if differ > 0 {
		return exit(campaign.ExitUnexpected)
	}
	return nil
}

func corpusRecordCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "record DIR...",
		Short: "Add stored trials, such as those of real Redis, to what diff judges",
		Long: `Record writes a line for each trial into ` + corpus.RecordedList + `, with what this
build says of the trial. Diff judges these trials from their files.`,
		Example: `  lockstorm corpus record DIR
  lockstorm corpus record docs/counterexamples/mine`,
		Args: expectArgs(1, -1, "the folders of stored trials"),
		RunE: func(cmd *cobra.Command, folders []string) error {
			listed, err := corpus.ReadRecorded(corpus.RecordedList)
			if err != nil {
				return fmt.Errorf("%w: expected to run in a clone of the repository", err)
			}
			var text []byte
			for _, folder := range folders {
				// A name such as latest will be another trial's.
				if folder, err = filepath.EvalSymlinks(folder); err != nil {
					return input.Errorf("stored trial: %w", err)
				}
				if i := slices.IndexFunc(listed, func(r corpus.Recorded) bool { return r.Folder == folder }); i >= 0 {
					return input.Errorf("%s is already in %s: nothing is added", folder, listed[i].At())
				}
				listed = append(listed, corpus.Recorded{Folder: folder})
				line, err := campaign.Record(cmd.Context(), folder, filepath.Dir(corpus.RecordedList))
				if err != nil {
					return err
				}
				text = append(text, line...)
			}
			f, err := os.OpenFile(corpus.RecordedList, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
			if err != nil {
				return input.Errorf("%w: expected to run in a clone of the repository", err)
			}
			_, err = f.Write(text)
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("record trials: %w", err)
			}
			a.say(a.stdout, "%s added to %s", count(len(folders), "trial"), corpus.RecordedList)
			return nil
		},
	}
}
