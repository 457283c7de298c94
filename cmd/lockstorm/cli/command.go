package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// commandVariable tells worker processes which command is a lock of this campaign.
const commandVariable = "LOCKSTORM_CLIENT_COMMAND"

// commandLock is a lock in another language: the command that starts a client of it.
type commandLock struct {
	ID   string
	Argv []string
	Able foreign.Abilities
}

// commandFlags are the flags of a lock in another language.
type commandFlags struct{ client, id string }

func (f *commandFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.client, "client", "", "command that starts a client of a lock in any language, such as 'python3 mylock.py' (docs/any-language.md)")
	flags.StringVar(&f.id, "client-id", "", "the name of that lock (default: the name of its file; the extension stays if another lock has the name)")
}

// words returns the flags as the user gave them, for command lines.
func (f commandFlags) words() []string {
	if f.client == "" {
		return nil
	}
	words := []string{"--client", f.client}
	if f.id != "" {
		words = append(words, "--client-id", f.id)
	}
	return words
}

// open registers the command's lock and returns its name; "" if there is none. It starts one client,
// which says what the lock can do, in virtual time if the testbed has that.
func (f commandFlags) open(ctx context.Context, on string) (id string, err error) {
	if f.client == "" {
		if f.id != "" {
			return "", input.Errorf("--client-id %s: expected --client too", f.id)
		}
		return "", nil
	}
	l := commandLock{ID: f.id}
	if l.Argv, err = shellquote.Split(f.client); err != nil || len(l.Argv) == 0 {
		return "", input.Errorf("--client %q: expected a command, with its quotes closed", f.client)
	}
	if l.ID == "" {
		l.ID = commandName(l.Argv)
	}
	if l.Able, err = probe(ctx, l.Argv, on); err != nil {
		return "", input.Errorf("--client %s: %w", f.client, err)
	}
	text, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("--client: %w", err)
	}
	if err := register([]locks.Recipe{l.recipe()}); err != nil {
		return "", fmt.Errorf("--client-id: %w", err)
	}
	return l.ID, os.Setenv(commandVariable, string(text))
}

// nameable returns an input.Error if a stored trial's lock is not known, but its campaign had a command for it. That
// command is told, and not run unasked: the folder may be somebody else's.
func (s stored) nameable(folder string) error {
	if _, ok := locks.ByID(s.spec.Lock); ok {
		return nil
	}
	dir := folderOf(folder)
	if filepath.Base(dir) == trial.MinimalFolder {
		dir = filepath.Dir(dir)
	}
	info, err := campaign.LoadInfo(campaign.CampaignOf(dir))
	i := slices.Index(info.Config.TestbedFlags, "--client")
	if err != nil || i < 0 {
		return nil // the trial tells that the lock is unknown
	}
	return input.Errorf("%s: a program was its lock %s; if that may run here, add %s", folder, s.spec.Lock, wording.Command(info.Config.TestbedFlags[i:]...))
}

func (l commandLock) recipe() locks.Recipe { return foreign.Recipe(l.ID, l.Argv, l.Able) }

// commandFromEnvironment registers the lock that the starting process has registered with open.
func commandFromEnvironment() error {
	text := os.Getenv(commandVariable)
	if text == "" {
		return nil
	}
	var l commandLock
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return input.Errorf("$%s: %w", commandVariable, err)
	}
	return register([]locks.Recipe{l.recipe()})
}

var notOfID = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)

// commandName returns the name of a lock whose command is argv: the base name of the first argument that is
// a file, else of the program. The extension stays only if another recipe has the name without it.
func commandName(argv []string) string {
	name := argv[0]
	for _, arg := range argv[1:] {
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			name = arg
			break
		}
	}
	name = filepath.Base(name)
	short := idOf(strings.TrimSuffix(name, filepath.Ext(name)))
	if _, taken := locks.ByID(short); taken {
		return idOf(name)
	}
	return short
}

// idOf makes a lock's ID of a file's name.
func idOf(name string) string {
	return strings.ToLower(strings.Trim(notOfID.ReplaceAllString(name, "-"), "._+-"))
}

// probe starts a client without faults and returns what its lock can do. What virtual time cannot carry is started
// beside a redis-server, if the run's testbed is in real time.
func probe(ctx context.Context, argv []string, name string) (able foreign.Abilities, err error) {
	var tb testbed.Testbed = sim.New()
	if choice, err := testbeds.choice(name); err == nil && !choice.Virtual {
		if tb, err = process.New(process.Options{}); err != nil {
			return able, fmt.Errorf("start it once, to learn what its lock can do: %w", err)
		}
	}
	err = tb.Run(ctx, testbed.Setup{
		Topology: testbed.Single, Clients: 1, Seed: 1, Limit: time.Hour,
		Clock: tb.Clock(), Commands: func(history.Command) {},
	}, func(_ context.Context, env testbed.Env) error {
		var err error
		able, err = foreign.Probe(env.Client(0).Locks(), argv)
		return err
	})
	return able, err
}

// openClient makes the lock of --client known. Without --locks, it is the only one; --locks has to name it.
func (f *runFlags) openClient(cmd *cobra.Command) error {
	id, err := f.client.open(cmd.Context(), f.Testbed)
	if err != nil || id == "" {
		return err
	}
	f.TestbedFlags = append(f.TestbedFlags, f.client.words()...)
	if !cmd.Flags().Changed("locks") {
		f.locks = id
	}
	recipes, err := campaign.Recipes(strings.Split(f.locks, ","))
	if err == nil && !slices.ContainsFunc(recipes, func(r locks.Recipe) bool { return r.ID == id }) {
		err = input.Errorf("--locks %s: expected %s too, the lock of --client", f.locks, id)
	}
	return err
}
