package campaign

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// Config is what a user chooses: part of campaign.json.
type Config struct {
	Name      string   `json:"name"` // the campaign's directory below the store
	Locks     []string `json:"locks"`
	Faults    []string `json:"faults"`
	Workloads []string `json:"workloads"` // each recipe gets those of them that suit it
	Testbed   string   `json:"testbed"`
	// TestbedFlags are the flags specific to that testbed, as given, for replaying its
	// trials. They contain no password.
	TestbedFlags []string `json:"testbedFlags,omitempty"`
	// Topology is used where it satisfies recipe and fault; "" = the smallest that
	// does.
	Topology testbed.Topology `json:"topology,omitempty"`
	Nodes    int              `json:"nodes,omitempty"` // of an independent topology; 0 = 5
	// Clients and Keys: how many clients share how many locks. 0 = not chosen: 3 and 1,
	// but varied in mixes of faults.
	Clients int `json:"clients"`
	Keys    int `json:"keys"`
	// Tokens is where the locks' tokens come from; "" = drawn by the recipes.
	Tokens workloads.Tokens `json:"tokens,omitempty"`
	TTL    time.Duration    `json:"ttl"`
	Hold   time.Duration    `json:"hold,omitempty"` // 0 = TTL/10
	Rest   time.Duration    `json:"rest,omitempty"` // 0 = TTL/20
	// CommandTimeout is how long clients wait for a reply; 0 = TTL/2.
	CommandTimeout time.Duration `json:"commandTimeout,omitempty"`
	// Overrun is the share of critical sections that last longer than the
	// TTL; negative = a quarter for recipes that claim to renew, else none.
	Overrun  float64       `json:"overrun,omitempty"`
	Duration time.Duration `json:"duration"` // of the disturbed part of a trial
	Trials   int           `json:"trials"`   // per cell and workload; 0 = the testbed's default
	Seed     uint64        `json:"seed"`     // at most trial.MaxSeed
	Parallel int           `json:"parallel"` // trials at a time; 0 = the testbed's default
	// Named: the named schedules run before the trials that are drawn.
	Named bool `json:"named,omitempty"`
	// NamedOnly: no trial is drawn, so nothing depends on the seed; Trials is 0.
	NamedOnly bool `json:"namedOnly,omitempty"`
	// Confirm is the directory of a stored campaign. Its trials that show a flaw run
	// again on this testbed, Trials of them per flaw; a cell without flaws runs as many
	// of its drawn trials. Clients, times and seed stay as they were there. "" = this
	// campaign plans its own trials.
	Confirm string `json:"confirm,omitempty"`
	// Shrink is the wall-clock budget for shrinking all violated trials together; 0 =
	// no shrinking.
	Shrink  time.Duration `json:"shrink,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // of one trial; 0 = chosen from the other durations
	// ShareLinks: clients share their links to nodes (testbed.Setup.SharedLinks).
	ShareLinks bool   `json:"shareLinks,omitempty"`
	Store      string `json:"store"`
	Keep       bool   `json:"keep,omitempty"` // keep the folders of trials without a violation
	// Monitor: also log everything that the nodes execute; on real Redis only.
	Monitor bool `json:"monitor,omitempty"`
	// Clean: only cells without a declared flaw, to look for false alarms.
	Clean bool `json:"clean,omitempty"`
	// Expect: declared flaws must be found, and no others.
	Expect   bool `json:"expect,omitempty"`
	Trusting bool `json:"trusting,omitempty"` // clients ignore deadlines and Lost
	// ClientsAs is what the clients of a trial are; "" = trial.Goroutines.
	ClientsAs string `json:"clientsAs,omitempty"`
	// ClientCommand is the command line of a program that calls trial.ServeClient. Used
	// if ClientsAs is trial.Processes.
	ClientCommand []string `json:"-"`
}

// DefaultConfig is what runs if nothing is chosen.
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

// Defaults are the sizes that a testbed can bear.
type Defaults struct {
	Trials   int // of each cell and workload
	Parallel int // trials at a time
	// Named: the named schedules run if nothing is chosen. They are worth their time
	// where trials are deterministic.
	Named bool
	// TTL is the lease time if none is chosen; 0 = DefaultConfig's. Testbeds whose
	// nodes restart slowly need longer leases.
	TTL time.Duration
}

// modest is for testbeds that have no defaults of their own.
var modest = Defaults{Trials: 4, Parallel: 8}

// filled takes from d what c leaves unset.
func (c Config) filled(d Defaults) Config {
	c.Locks, c.Faults, c.Workloads = trimmed(c.Locks), trimmed(c.Faults), trimmed(c.Workloads)
	if !c.NamedOnly {
		c.Trials = cmp.Or(c.Trials, d.Trials, modest.Trials)
	}
	c.Parallel = cmp.Or(c.Parallel, d.Parallel, modest.Parallel)
	return c
}

// Bounds of Config.CommandTimeout. Below the minimum, clients of the simulation give up
// before any reply can arrive.
const (
	leastTimeout = time.Millisecond
	mostTimeout  = time.Minute
)

// commandTimeout is how long clients wait for a reply. The default is much shorter than
// a lease, as in a well-configured service.
func (c Config) commandTimeout() time.Duration {
	return cmp.Or(c.CommandTimeout, c.TTL/2)
}

// patient is by how much the command timeout exceeds the default. A client whose reply
// was lost is blocked for that much longer.
func (c Config) patient() time.Duration {
	return max(0, c.commandTimeout()-c.TTL/2)
}

// crowdRetry is added to the retry interval for each client, so that all clients
// together make at most 2,000 attempts a second. A redis-server behind gate, proxy and
// tap serves 3,000 to 7,000 a second on two cores; more attempts would cause timeouts
// of the harness's own making.
const crowdRetry = 500 * time.Microsecond

// retry is the mean interval at which a client tries a busy lock again.
func (c Config) retry() time.Duration {
	return max(c.TTL/20, time.Duration(c.Clients)*crowdRetry)
}

// trimmed strips white space from names.
func trimmed(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = strings.TrimSpace(n)
	}
	return all
}

// check returns an input.Error that names the first invalid flag.
func (c Config) check() error {
	switch {
	case c.Name == Latest:
		return input.Errorf("--name %q: expected another name, for that one points to the latest campaign", c.Name)
	case c.Name == "" || strings.ContainsAny(c.Name, `/\`) || strings.HasPrefix(c.Name, "."):
		return input.Errorf("--name %q: expected a directory name", c.Name)
	case c.Clients < 0:
		return input.Errorf("--clients %d: expected at least 1, or 0 for the default", c.Clients)
	case !slices.Contains([]workloads.Tokens{"", workloads.DrawnTokens, workloads.ClientTokens}, c.Tokens):
		return input.Errorf("--lock-tokens %q: expected %s or %s", c.Tokens, workloads.DrawnTokens, workloads.ClientTokens)
	case c.Keys < 0:
		return input.Errorf("--keys %d: expected at least 1, or 0 for the default", c.Keys)
	case c.TTL < 10*time.Millisecond:
		return input.Errorf("--ttl %v: expected at least 10ms", c.TTL)
	case c.Hold < 0:
		return input.Errorf("--hold %v: expected a positive duration", c.Hold)
	case c.Rest < 0:
		return input.Errorf("--rest %v: expected a positive duration", c.Rest)
	case c.CommandTimeout != 0 && (c.CommandTimeout < leastTimeout || c.CommandTimeout > mostTimeout):
		return input.Errorf("--command-timeout %v: expected %v to %v, or 0 for half of --ttl", c.CommandTimeout, leastTimeout, mostTimeout)
	case c.Overrun > 1:
		return input.Errorf("--overrun %v: expected a share between 0 and 1", c.Overrun)
	case c.Duration <= 0:
		return input.Errorf("--duration %v: expected a positive duration", c.Duration)
	case c.NamedOnly && !c.Named:
		return input.Errorf("--named-only: expected the named schedules to be run: no --named=false, no --confirm")
	case c.NamedOnly && c.Trials != 0:
		return input.Errorf("--trials %d: expected none beside --named-only, which draws no trials", c.Trials)
	case c.Trials < 1 && !c.NamedOnly:
		return input.Errorf("--trials %d: expected at least 1", c.Trials)
	case c.Seed > trial.MaxSeed:
		return input.Errorf("--seed %d: expected at most %d", c.Seed, uint64(trial.MaxSeed))
	case c.Parallel < 1:
		return input.Errorf("--parallel %d: expected at least 1", c.Parallel)
	case c.Nodes < 0 || c.Nodes > 16:
		return input.Errorf("--nodes %d: expected 1 to 16", c.Nodes)
	case c.Timeout < 0:
		return input.Errorf("--timeout %v: expected a positive duration", c.Timeout)
	case c.Store == "":
		return input.Errorf("--store: expected a directory")
	}
	return nil
}

// clients makes s a trial with the chosen kind of clients.
func (c Config) clients(s *trial.Spec) {
	s.ClientsAs, s.ClientCommand = "", nil
	if c.ClientsAs == trial.Processes {
		s.ClientsAs, s.ClientCommand = trial.Processes, c.ClientCommand
	}
}

// Versions of the programs that took part.
type Versions struct {
	Lockstorm string `json:"lockstorm"`
	Go        string `json:"go"`
	Redis     string `json:"redis,omitempty"`
}

// Info is campaign.json: what was asked for, and what ran it.
type Info struct {
	// Format is trial.Format of the version that ran it.
	Format   int      `json:"format,omitempty"`
	Config   Config   `json:"config"`
	Command  string   `json:"command"`
	Versions Versions `json:"versions"`
	// Prefix begins the names of all keys on servers shared with other users; "" = the
	// campaign had servers of its own.
	Prefix  string    `json:"prefix,omitempty"`
	Started time.Time `json:"started"`
	// Elapsed is how long the campaign took; 0 if it did not finish.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	// Deterministic: a trial that is run again does the same.
	Deterministic bool `json:"deterministic,omitempty"`
	// Varying lists the locks that are not replayable byte for byte even so.
	Varying []Varying `json:"varying,omitempty"`
	// Sought are the flaws that are to be confirmed.
	Sought []Sought `json:"sought,omitempty"`
	// Plan lists the cells in the matrix's order.
	Plan []PlannedCell `json:"plan"`
}

// PlannedCell is one cell as planned.
type PlannedCell struct {
	Lock      string   `json:"lock"`
	Fault     string   `json:"fault"`
	Workloads []string `json:"workloads,omitempty"`
	// Variants is how many trials of a workload run every variant of the fault's plans
	// once.
	Variants int `json:"variants,omitempty"`
	// Named is how many named schedules run, in all workloads; when confirming another
	// campaign, how many of its trials.
	Named int `json:"named,omitempty"`
	// NotSupported says why the cell has no trials; nil otherwise.
	NotSupported *trial.Lack `json:"notSupported,omitempty"`
}

// Progress is how far a running campaign is.
type Progress struct {
	Done, Total int // trials
	Violations  int // trials with a violated oracle
	Failed      int // trials that the harness could not finish
	// Shrunk of ToShrink trials, once all have been run.
	Shrunk, ToShrink int
}
