package campaign

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// Config is a user's choice of what to run, and how. campaign.json contains it.
type Config struct {
	Name      string   `json:"name"` // the campaign's directory below the store
	Locks     []string `json:"locks"`
	Faults    []string `json:"faults"`
	Workloads []string `json:"workloads"` // each recipe runs the workloads that suit it
	Testbed   string   `json:"testbed"`
	// TestbedFlags are the testbed's own flags as given, needed to replay the campaign's trials. They
	// contain no password.
	TestbedFlags []string `json:"testbedFlags,omitempty"`
	// Topology is used where it satisfies recipe and fault; other cells are not supported. "" = the
	// smallest topology that satisfies both.
	Topology testbed.Topology `json:"topology,omitempty"`
	Nodes    int              `json:"nodes,omitempty"` // nodes of an independent topology; 0 = 5
	// Clients and Keys are the numbers of clients and of locks. 0 = not chosen: as many as the
	// workload asks for, else 3 clients and 1 lock; in mixes of faults, random numbers.
	Clients int `json:"clients"`
	Keys    int `json:"keys"`
	// Tokens says who makes the locks' tokens; "" = the recipes draw them.
	Tokens workloads.Tokens `json:"tokens,omitempty"`
	TTL    time.Duration    `json:"ttl"`
	Hold   time.Duration    `json:"hold,omitempty"` // 0 = TTL/10; in mixes of faults, random
	Rest   time.Duration    `json:"rest,omitempty"` // 0 = TTL/20; in mixes of faults, random
	// CommandTimeout is how long clients wait for a reply; 0 = TTL/2.
	CommandTimeout time.Duration `json:"commandTimeout,omitempty"`
	// Overrun is the share of critical sections that last longer than the TTL. A negative value leaves the
	// choice to the trial. A named schedule takes a share that suits recipe and fault. If the recipe claims
	// to renew, a mix of faults takes a random share, and any other drawn trial a quarter; else they take
	// none.
	Overrun  float64       `json:"overrun,omitempty"`
	Duration time.Duration `json:"duration"` // how long the disturbed part of a drawn trial lasts
	Trials   int           `json:"trials"`   // drawn per cell and workload; 0 = the testbed's default, or what Corpus says
	Seed     uint64        `json:"seed"`     // at most trial.MaxSeed
	// Budget is the time, from the campaign's start, in which rounds of further trials are run
	// after the planned ones; 0 = no further trials. Shrinking comes after these rounds.
	// Deterministic testbeds only.
	Budget   time.Duration `json:"budget,omitempty"`
	Shard    Shard         `json:"shard,omitzero"`
	Parallel int           `json:"parallel"` // trials at a time; 0 = the testbed's default
	// Corpus: the trials of Campaign.Corpus run first, and then those that look for what the corpus
	// does not know (memory). A cell that the corpus does not have gets every named schedule, and as
	// many drawn trials as the testbed's default.
	Corpus bool `json:"corpus,omitempty"`
	// Named: the named schedules (nemesis.Named) run before the drawn trials.
	Named bool `json:"named,omitempty"`
	// NamedOnly: no trial is drawn, so nothing depends on the seed; Trials is 0.
	NamedOnly bool `json:"namedOnly,omitempty"`
	// Sweep is the number of times that each size of a fault, such as the length of a pause, strikes
	// at each place of the protocol (nemesis.Sweep); 0 = never. The trials count as named ones.
	Sweep int `json:"sweep,omitempty"`
	// Confirm is the directory of a stored campaign whose flaws this campaign tries to reproduce on its
	// own testbed. For each flaw, it first runs up to Trials of the trials that showed the flaw, and
	// more of them if the flaw does not show. In a cell without flaws, it first runs up to Trials drawn
	// trials of each workload. Clients, Keys, nodes, times and seed are those of the stored campaign.
	// "" = this campaign plans its own trials.
	Confirm string `json:"confirm,omitempty"`
	// Shrink is the number of trials with which each cell's counterexample may be shrunk; 0 = no
	// shrinking.
	Shrink  int           `json:"shrink,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // for one trial; 0 = derived from the other durations
	// ShareLinks: clients share their links to nodes (testbed.Setup.SharedLinks).
	ShareLinks bool   `json:"shareLinks,omitempty"`
	Store      string `json:"store"`
	Keep       bool   `json:"keep,omitempty"` // keep the folders of all planned trials
	// Monitor: also log everything that the nodes execute; on real Redis only.
	Monitor bool `json:"monitor,omitempty"`
	// Clean: run only cells without a declared flaw, to look for false alarms.
	Clean bool `json:"clean,omitempty"`
	// Expect: the campaign must find the declared flaws, and no others.
	Expect   bool `json:"expect,omitempty"`
	Trusting bool `json:"trusting,omitempty"` // clients ignore deadlines and Lost
	// ClientsAs says how clients run: trial.Goroutines or trial.Processes; "" = goroutines.
	ClientsAs string `json:"clientsAs,omitempty"`
	// ClientCommand is the command line of a program that calls trial.ServeClient. Used
	// if ClientsAs is trial.Processes.
	ClientCommand []string `json:"-"`
}

// DefaultConfig returns the configuration of a user who chooses nothing.
func DefaultConfig() Config {
	return Config{
		Name:      "compare",
		Locks:     []string{"all"},
		Faults:    []string{"all"},
		Workloads: []string{standardNames},
		Testbed:   "process",
		TTL:       time.Second,
		Overrun:   -1,
		Duration:  5 * time.Second,
		Seed:      1,
		Store:     "store",
	}
}

// Defaults are the defaults that suit a testbed, such as its number of trials.
type Defaults struct {
	Trials   int // number of trials of each cell and workload
	Parallel int // trials at a time
	// Named: the named schedules run by default. They are worth their time where trials are
	// deterministic.
	Named bool
	// TTL is the default lease time; 0 = DefaultConfig's. Testbeds whose nodes restart
	// slowly need longer leases.
	TTL time.Duration
}

// modest are the defaults for testbeds without defaults of their own.
var modest = Defaults{Trials: 4, Parallel: 8}

// filled returns c with trimmed names. If Trials or Parallel is not set, filled takes it from d, or
// else from modest. With NamedOnly, it leaves Trials alone.
func (c Config) filled(d Defaults) Config {
	c.Locks, c.Faults, c.Workloads = trimmed(c.Locks), trimmed(c.Faults), trimmed(c.Workloads)
	if !c.NamedOnly && !c.Corpus {
		c.Trials = cmp.Or(c.Trials, d.Trials, modest.Trials)
	}
	c.Parallel = cmp.Or(c.Parallel, d.Parallel, modest.Parallel)
	return c
}

// mostSweep is the maximum of Config.Sweep.
const mostSweep = 100

// Bounds of Config.CommandTimeout. Below the minimum, clients of the simulation give up
// before any reply can arrive.
const (
	leastTimeout = time.Millisecond
	mostTimeout  = time.Minute
)

// commandTimeout is how long clients wait for a reply. The default is half the lease time: a
// well-configured service gives up on a reply before its lease ends.
func (c Config) commandTimeout() time.Duration {
	return cmp.Or(c.CommandTimeout, c.TTL/2)
}

// patient returns by how much the command timeout exceeds its default. A client whose reply is lost
// waits that much longer.
func (c Config) patient() time.Duration {
	return max(0, c.commandTimeout()-c.TTL/2)
}

// crowdRetry times the number of clients is the minimum of the mean retry interval, so that all clients
// together make about 2,000 attempts a second at most. A redis-server behind gate, proxy and tap serves
// 3,000 to 7,000 a second on two cores; more attempts would cause timeouts of the harness's own making.
const crowdRetry = 500 * time.Microsecond

// retry returns the mean interval at which each of so many clients tries a busy lock again.
func (c Config) retry(clients int) time.Duration {
	return max(c.TTL/20, time.Duration(clients)*crowdRetry)
}

func trimmed(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = strings.TrimSpace(n)
	}
	return all
}

// check returns an input.Error that names the first invalid setting.
func (c Config) check() error {
	switch {
	case c.Name == Latest:
		return input.Errorf("%s %q: expected another name, for that one points to the latest campaign", input.Setting("name"), c.Name)
	case c.Name == "" || strings.ContainsAny(c.Name, `/\`) || strings.HasPrefix(c.Name, "."):
		return input.Errorf("%s %q: expected a directory name", input.Setting("name"), c.Name)
	case c.Clients < 0:
		return input.Errorf("%s %d: expected at least 1, or 0 for the default", input.Setting("clients"), c.Clients)
	case !slices.Contains([]workloads.Tokens{"", workloads.DrawnTokens, workloads.ClientTokens}, c.Tokens):
		return input.Errorf("%s %q: expected %s or %s", input.Setting("lock-tokens"), c.Tokens, workloads.DrawnTokens, workloads.ClientTokens)
	case c.Keys < 0:
		return input.Errorf("%s %d: expected at least 1, or 0 for the default", input.Setting("keys"), c.Keys)
	case c.TTL < 10*time.Millisecond:
		return input.Errorf("%s %v: expected at least 10ms", input.Setting("ttl"), c.TTL)
	case c.Hold < 0:
		return input.Errorf("%s %v: expected a positive duration", input.Setting("hold"), c.Hold)
	case c.Rest < 0:
		return input.Errorf("%s %v: expected a positive duration", input.Setting("rest"), c.Rest)
	case c.CommandTimeout != 0 && (c.CommandTimeout < leastTimeout || c.CommandTimeout > mostTimeout):
		return input.Errorf("%s %v: expected %v to %v, or 0 for half of %s", input.Setting("command-timeout"), c.CommandTimeout, leastTimeout, mostTimeout, input.Setting("ttl"))
	case c.Overrun > 1:
		return input.Errorf("%s %v: expected a share between 0 and 1", input.Setting("overrun"), c.Overrun)
	case c.Duration <= 0:
		return input.Errorf("%s %v: expected a positive duration", input.Setting("duration"), c.Duration)
	case c.NamedOnly && !c.Named:
		return input.Errorf("%s: expected the named schedules to be run: no %s=false, no %s", input.Setting("named-only"), input.Setting("named"), input.Setting("confirm"))
	case c.NamedOnly && c.Trials != 0:
		return input.Errorf("%s %d: expected none with %s, which draws no trials", input.Setting("trials"), c.Trials, input.Setting("named-only"))
	case c.Sweep < 0 || c.Sweep > mostSweep:
		return input.Errorf("%s %d: expected 0 to %d", input.Setting("sweep"), c.Sweep, mostSweep)
	case c.Sweep > 0 && !c.Named:
		return input.Errorf("%s %d: expected the named schedules to be run: no %s=false, no %s", input.Setting("sweep"), c.Sweep, input.Setting("named"), input.Setting("confirm"))
	case c.Corpus && (c.Named || c.Sweep > 0 || c.Confirm != ""):
		return input.Errorf("%s: expected no %s, %s or %s, which choose other trials than the corpus", input.Setting("corpus"), input.Setting("named"), input.Setting("sweep"), input.Setting("confirm"))
	case c.Trials < 0 || c.Trials == 0 && !c.NamedOnly && !c.Corpus:
		return input.Errorf("%s %d: expected at least 1, or 0 for the default", input.Setting("trials"), c.Trials)
	case c.Budget < 0:
		return input.Errorf("%s %v: expected a positive duration, or 0", input.Setting("budget"), c.Budget)
	case c.Budget > 0 && (c.NamedOnly || c.Confirm != ""):
		return input.Errorf("%s %v: expected neither %s nor %s, which draw no trials", input.Setting("budget"), c.Budget, input.Setting("named-only"), input.Setting("confirm"))
	case c.Seed > trial.MaxSeed:
		return input.Errorf("%s %d: expected at most %d", input.Setting("seed"), c.Seed, uint64(trial.MaxSeed))
	case c.Shard.check() != nil:
		return input.Errorf("%s %w", input.Setting("shard"), c.Shard.check())
	case c.Shard.Part() && c.Confirm != "":
		return input.Errorf("%s %s: expected no %s, which cannot be divided: its results decide which trials run next", input.Setting("shard"), c.Shard, input.Setting("confirm"))
	case c.Parallel < 1:
		return input.Errorf("%s %d: expected at least 1, or 0 for the default", input.Setting("parallel"), c.Parallel)
	case c.Nodes < 0 || c.Nodes > 16:
		return input.Errorf("%s %d: expected 1 to 16", input.Setting("nodes"), c.Nodes)
	case c.Timeout < 0:
		return input.Errorf("%s %v: expected a positive duration", input.Setting("timeout"), c.Timeout)
	case c.Store == "":
		return input.Errorf("%s: expected a directory", input.Setting("store"))
	}
	return nil
}

// clients makes the trial's clients run as the configuration says: as goroutines or as processes.
func (c Config) clients(s *trial.Spec) {
	s.ClientsAs, s.ClientCommand = "", nil
	if c.ClientsAs == trial.Processes {
		s.ClientsAs, s.ClientCommand = trial.Processes, c.ClientCommand
	}
}

// Versions are the versions of the programs that took part.
type Versions struct {
	Lockstorm string `json:"lockstorm"`
	// Commit is the commit that Lockstorm was built from, with ", modified" if files differed
	// from it; "" if that is unknown.
	Commit string `json:"commit,omitempty"`
	Go     string `json:"go"`
	Redis  string `json:"redis,omitempty"`
	// Libraries are the versions of the Redis clients and lock libraries that recipes use,
	// by module path.
	Libraries map[string]string `json:"libraries,omitempty"`
}

// Info is the content of campaign.json: the request, the plan, and the versions that ran
// it.
type Info struct {
	// Format is trial.Format of the version that ran the campaign.
	Format   int      `json:"format,omitempty"`
	Config   Config   `json:"config"`
	Command  string   `json:"command"`
	Versions Versions `json:"versions"`
	// Prefix begins the names of all locks on servers shared with other users; "" = the
	// campaign had servers of its own.
	Prefix  string    `json:"prefix,omitempty"`
	Started time.Time `json:"started"`
	// Elapsed is how long the campaign took; 0 if it is running or was killed. A merged campaign has
	// the sum of its shards.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	// Interrupted: the campaign was stopped before it had finished. All planned trials may have run.
	Interrupted bool `json:"interrupted,omitempty"`
	// Deterministic: a trial that is run again gives the same history.
	Deterministic bool `json:"deterministic,omitempty"`
	// Varying lists the locks whose trials were not replayable byte for byte on a deterministic
	// testbed.
	Varying []Varying `json:"varying,omitempty"`
	// Further counts the trials that Config.Budget added; nil = none.
	Further *Further `json:"further,omitempty"`
	// Adapted: the options differ from those of the corpus. Its named schedules were planned anew, its
	// drawn trials were left out, and its facts were not expected.
	Adapted bool `json:"adapted,omitempty"`
	// Sought are the flaws that are to be confirmed.
	Sought []Sought `json:"sought,omitempty"`
	// Plan lists the cells in the matrix's order.
	Plan []PlannedCell `json:"plan"`
	// Probes is the number of probes that ran, for any cell. They count among the drawn trials of the cell without a
	// fault, if the campaign has that cell.
	Probes int `json:"probes,omitempty"`
}

// PlannedCell is one cell as planned.
type PlannedCell struct {
	Lock      string   `json:"lock"`
	Fault     string   `json:"fault"`
	Workloads []string `json:"workloads,omitempty"`
	// Variants is the number of variants of the fault's plans. A workload needs Variants trials to
	// run each variant once.
	Variants int `json:"variants,omitempty"`
	// Named is the number of named schedules to run, over all workloads. In a campaign that confirms
	// another one, Named is the number of the other campaign's trials to run.
	Named int `json:"named,omitempty"`
	// Unlisted is the number of named schedules that run though the corpus did not choose them.
	Unlisted int `json:"unlisted,omitempty"`
	// Skipped is the number of named schedules that the campaign leaves out.
	Skipped int `json:"skipped,omitempty"`
	// Drawn is the number of trials that the campaign's seed draws, over all workloads, probes
	// included. Corpus is the number of drawn trials of the corpus.
	Drawn  int `json:"drawn,omitempty"`
	Corpus int `json:"corpus,omitempty"`
	// InShard is the number of trials of the cell that this shard runs; 0 in a whole
	// campaign.
	InShard int `json:"inShard,omitempty"`
	// NotSupported says why the cell has no trials; nil otherwise.
	NotSupported *nemesis.Unsupported `json:"notSupported,omitempty"`
}

// Progress counts what a running campaign has done so far.
type Progress struct {
	Done, Total int // trials
	Violations  int // trials with a violated oracle
	Failed      int // trials with an error of the harness (trial.Result.Err)
	// Virtual is the virtual time of all trials together; 0 on real time.
	Virtual time.Duration
	// The campaign shrinks ToShrink trials after its last trial. Shrunk counts those already
	// shrunk.
	Shrunk, ToShrink int
	// Trial is the trial that has just ended; nil while trials are shrunk. It must not be
	// changed.
	Trial *trial.Result
}
