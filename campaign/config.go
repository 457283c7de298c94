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
	Workloads []string `json:"workloads"` // of these, each recipe gets those that suit it
	Testbed   string   `json:"testbed"`
	// TestbedFlags are those of that testbed alone, as given: it takes them to run
	// a trial again. No password is among them.
	TestbedFlags []string `json:"testbedFlags,omitempty"`
	// Topology is used where it satisfies recipe and fault; empty = the
	// smallest that does.
	Topology testbed.Topology `json:"topology,omitempty"`
	Nodes    int              `json:"nodes,omitempty"` // of an independent topology; 0 = 5
	// Clients and Keys are how many clients share how many locks; 0 = not chosen:
	// 3 and 1, but where faults are mixed, which varies them.
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
	// NamedOnly: nothing is drawn, so that nothing hangs on the seed. Trials is 0 then.
	NamedOnly bool `json:"namedOnly,omitempty"`
	// Confirm is the directory of a stored campaign: its trials that show a flaw are
	// run again on this testbed, so many for each flaw as Trials says, and where it
	// found none, so many of those that it drew. What trials are like (clients, times,
	// seed) is as it was there. "" = trials of this campaign's own.
	Confirm string `json:"confirm,omitempty"`
	// Shrink is how long, on the machine's clock, violated trials may be shrunk,
	// all together; 0 = none is.
	Shrink  time.Duration `json:"shrink,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // of one trial; 0 = chosen from the other durations
	// ShareLinks: clients share their links to nodes (testbed.Setup.SharedLinks).
	ShareLinks bool   `json:"shareLinks,omitempty"`
	Store      string `json:"store"`
	Keep       bool   `json:"keep,omitempty"` // keep the folders of trials without a violation
	// Monitor: beside the nodes' logs, all that they execute; on real Redis only.
	Monitor bool `json:"monitor,omitempty"`
	// Clean: only cells for which the recipe declares no flaw, to look for false
	// alarms.
	Clean bool `json:"clean,omitempty"`
	// Expect: what recipes declare must be found, anything else must not be.
	Expect   bool `json:"expect,omitempty"`
	Trusting bool `json:"trusting,omitempty"` // clients ignore deadlines and Lost
	// ClientsAs is what the clients of a trial are; "" = trial.Goroutines.
	ClientsAs string `json:"clientsAs,omitempty"`
	// ClientCommand is the command line of a program that calls trial.ServeClient, for
	// clients that are trial.Processes.
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

// Defaults are how much a testbed can bear.
type Defaults struct {
	Trials   int // of each cell and workload
	Parallel int // trials at a time
	// Named: the named schedules run if nothing is chosen; they are worth their
	// time where trials do the same again.
	Named bool
	// TTL is the lease time if none is chosen, 0 = DefaultConfig's: where a node
	// takes long to be killed and started again, leases have to last longer.
	TTL time.Duration
}

// modest is for testbeds that have no defaults of their own.
var modest = Defaults{Trials: 4, Parallel: 8}

// filled takes from d what c leaves open.
func (c Config) filled(d Defaults) Config {
	c.Locks, c.Faults, c.Workloads = trimmed(c.Locks), trimmed(c.Faults), trimmed(c.Workloads)
	if !c.NamedOnly {
		c.Trials = cmp.Or(c.Trials, d.Trials, modest.Trials)
	}
	c.Parallel = cmp.Or(c.Parallel, d.Parallel, modest.Parallel)
	return c
}

// Bounds of Config.CommandTimeout. Below the least, clients give up before the
// network of the simulation has brought any reply.
const (
	leastTimeout = time.Millisecond
	mostTimeout  = time.Minute
)

// commandTimeout is how long clients wait for a reply. If nothing is chosen, that
// is a good deal shorter than a lease lasts, as in a service that means it.
func (c Config) commandTimeout() time.Duration {
	return cmp.Or(c.CommandTimeout, c.TTL/2)
}

// patient is by how much clients wait longer for a reply than if nothing is
// chosen: so much longer a client whose reply was lost is out of the game.
func (c Config) patient() time.Duration {
	return max(0, c.commandTimeout()-c.TTL/2)
}

// crowdRetry is what each client adds to the time for which a busy lock is left
// alone: however many there are, they make 2,000 attempts a second at most. A
// redis-server behind gate, proxy and tap serves 3,000 to 7,000 a second on two
// cores; were it asked for more, clients would time out for the harness's sake.
const crowdRetry = 500 * time.Microsecond

// retry is the mean interval at which a client tries a busy lock again.
func (c Config) retry() time.Duration {
	return max(c.TTL/20, time.Duration(c.Clients)*crowdRetry)
}

// trimmed takes the blanks off names.
func trimmed(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = strings.TrimSpace(n)
	}
	return all
}

// check returns an input.Error that names the first flag that makes no sense.
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

// clients makes of s a trial with such clients as are chosen.
func (c Config) clients(s *trial.Spec) {
	s.ClientsAs, s.ClientCommand = "", nil
	if c.ClientsAs == trial.Processes {
		s.ClientsAs, s.ClientCommand = trial.Processes, c.ClientCommand
	}
}

// Versions of what took part.
type Versions struct {
	Lockstorm string `json:"lockstorm"`
	Go        string `json:"go"`
	Redis     string `json:"redis,omitempty"`
}

// Info is campaign.json: what was asked for, and of whom.
type Info struct {
	// Format is trial.Format of the version that ran it.
	Format   int      `json:"format,omitempty"`
	Config   Config   `json:"config"`
	Command  string   `json:"command"`
	Versions Versions `json:"versions"`
	// Prefix begins the names of all keys that its trials have on servers that others
	// use; "" = it ran on servers of its own.
	Prefix  string    `json:"prefix,omitempty"`
	Started time.Time `json:"started"`
	// Elapsed is how long it took; 0 if it did not come to its end.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	// Deterministic: every trial does the same again when it is run again.
	Deterministic bool `json:"deterministic,omitempty"`
	// Varying are locks that are not replayable byte for byte all the same.
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
	// Variants is how many trials of a workload it takes to run every variant
	// of the fault's plans once.
	Variants int `json:"variants,omitempty"`
	// Named is how many named schedules are run, in all workloads; in a campaign
	// that confirms another, how many trials of that.
	Named int `json:"named,omitempty"`
	// NotSupported says why the cell has no trials; nil otherwise.
	NotSupported *trial.Lack `json:"notSupported,omitempty"`
}

// Progress is how far a running campaign is.
type Progress struct {
	Done, Total int // trials
	Violations  int // trials with a violated oracle
	Failed      int // trials that the harness could not finish
	// Shrunk of ToShrink trials, when all have been run.
	Shrunk, ToShrink int
}
