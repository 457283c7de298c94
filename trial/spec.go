package trial

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/workloads"
)

// MaxSeed is the largest seed: seeds stay below 2^53, so that programs that
// read JSON numbers as floats keep them.
const MaxSeed = 1<<53 - 1

// Spec is everything that defines one trial, as data: spec.json. Names are
// looked up in the registries of recipes, workloads and faults.
type Spec struct {
	Lock     string `json:"lock"`
	Workload string `json:"workload"`
	// Fault names the trial's cell; Plan says what actually happens.
	Fault    string           `json:"fault"`
	Testbed  string           `json:"testbed"`
	Topology testbed.Topology `json:"topology"`
	// Nodes is the number of nodes of an independent topology; 0 = DefaultNodes. Other topologies
	// ignore it.
	Nodes      int                `json:"nodes,omitempty"`
	Durability testbed.Durability `json:"durability,omitempty"`
	Options    workloads.Options  `json:"options"`
	Plan       nemesis.Plan       `json:"plan,omitempty"`
	// ShareLinks: clients share their links to nodes (testbed.Setup.SharedLinks).
	ShareLinks bool `json:"shareLinks,omitempty"`
	// Seed is the seed of everything random in the trial, at most MaxSeed.
	Seed uint64 `json:"seed"`
	// Schedule is the name of the trial's nemesis.Schedule; "" = the trial is drawn from
	// Seed.
	Schedule string `json:"schedule,omitempty"`
	// Size is the fault's size in lease times if the trial belongs to a sweep (nemesis.Sweep), else
	// 0.
	Size float64 `json:"size,omitempty"`
	// ClientsAs says how clients run: Goroutines or Processes; "" = Goroutines.
	ClientsAs string `json:"clientsAs,omitempty"`
	// Trial is the trial's number in its cell and workload, from 0; named schedules
	// have their own numbers.
	Trial int `json:"trial"`
	// DrawnFrom is the seed of the campaign that drew the trial, if the running campaign took it from
	// the corpus; else 0. Such a trial was selected for what it shows.
	DrawnFrom uint64 `json:"drawnFrom,omitempty"`
	// Attempt counts the earlier attempts at the trial. A trial gets another attempt if it leaves a
	// doubt, or if it is repeated by a campaign that confirms an earlier campaign. Each attempt has a
	// folder of its own. On real time, attempts may differ.
	Attempt int `json:"attempt,omitempty"`
	// Remedies are the names of the remedies in force (package remedy), which the recipe does not have.
	Remedies []string `json:"remedies,omitempty"`
	// CommandTimeout is the clients' read and write timeout; 0 = the testbed's own.
	CommandTimeout time.Duration `json:"commandTimeout,omitempty"`
	// Timeout ends the trial as failed; 0 = long enough for any trial of these options.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Logs is the folder for the nodes' logs; "" = not kept. Logs does not define the trial.
	Logs string `json:"-"`
	// Monitor is the folder for logs of what the nodes execute; "" = not kept. Monitor does not
	// define the trial, though monitoring costs nodes time.
	Monitor string `json:"-"`
	// ClientCommand is the command line of a program that calls ServeClient, used if ClientsAs is
	// Processes. ClientCommand does not define the trial.
	ClientCommand []string `json:"-"`
}

// Named says whether the trial runs a named schedule.
func (s Spec) Named() bool { return s.Schedule != "" }

// Number returns the trial's name among those of its cell and workload: "3", "3-again1", "seed7-3" or
// "acquire.n0.1.before-1of2".
func (s Spec) Number() string {
	n := cmp.Or(s.Schedule, strconv.Itoa(s.Trial))
	if s.DrawnFrom > 0 {
		n = fmt.Sprintf("seed%d-%d", s.DrawnFrom, s.Trial)
	}
	if s.Attempt > 0 {
		n += fmt.Sprint("-again", s.Attempt)
	}
	return n
}

// Title names the trial within its cell and workload, for a reader: "trial 3",
// "schedule acquire.n0.1.before-1of2", "trial 3, attempt 2".
func (s Spec) Title() string {
	title := fmt.Sprintf("trial %d", s.Trial)
	if s.DrawnFrom > 0 {
		title += fmt.Sprint(" of seed ", s.DrawnFrom)
	}
	if s.Named() {
		title = "schedule " + s.Schedule
	}
	if s.Attempt > 0 {
		title += fmt.Sprint(", attempt ", s.Attempt+1)
	}
	return title
}

// Turn is a trial's place in the order of its cell and workload.
type Turn struct {
	source  int    // 0 = named, 1 = drawn by the campaign of another seed (DrawnFrom), 2 = drawn
	seed    uint64 // Spec.DrawnFrom
	trial   int
	attempt int
}

// Turn returns the trial's place in the order of its cell and workload.
func (s Spec) Turn() Turn {
	source := 2
	switch {
	case s.Named():
		source = 0
	case s.DrawnFrom > 0:
		source = 1
	}
	return Turn{source, s.DrawnFrom, s.Trial, s.Attempt}
}

// Compare orders turns: named trials come first, then drawn trials of the corpus, then other drawn
// trials; each by number and attempt.
func (t Turn) Compare(u Turn) int {
	return cmp.Or(cmp.Compare(t.source, u.source), cmp.Compare(t.seed, u.seed), cmp.Compare(t.trial, u.trial), cmp.Compare(t.attempt, u.attempt))
}

// Recipe returns the trial's recipe. Since the spec may come from a file, the error is an
// input.Error if the spec names something unknown or has invalid options.
func (s Spec) Recipe() (locks.Recipe, error) {
	recipe, ok := locks.ByID(s.Lock)
	if !ok {
		return recipe, input.Errorf("unknown lock %q", s.Lock)
	}
	if _, ok := workloads.ByName(s.Workload); !ok {
		return recipe, input.Errorf("unknown workload %q", s.Workload)
	}
	if err := s.Options.Validate(); err != nil {
		return recipe, input.Errorf("options of %s under %s: %w", s.Lock, s.Fault, err)
	}
	return recipe, nil
}

// CheckRemedies returns an input.Error if a remedy has no such name, or if the testbed has no remedies.
func CheckRemedies(names []string, tb testbed.Testbed) error {
	for _, name := range names {
		if _, err := remedy.Named(name); err != nil {
			return err
		}
	}
	if len(names) > 0 && RealTime(tb) {
		return input.Errorf("%s %s: testbed %s has no remedies: only the simulation tries them", input.Setting("remedy"), names[0], tb.Name())
	}
	return nil
}

// PromisedBy returns what the recipe promises in this trial.
func (s Spec) PromisedBy(r locks.Recipe) history.Claims {
	c := r.Claims(s.Options.TTL, s.Voters())
	c.Lock = r.ID
	c.Trusting = s.Options.Trusting
	body, _ := workloads.ByName(s.Workload)
	c.Draws = body.Draws
	if d := s.CommandTimeout; d > 0 && d < cmp.Or(c.Timeout, c.TTL/10) {
		c.Timeout = d
	}
	return c
}

// Voters returns how many nodes may grant the lock.
func (s Spec) Voters() int {
	if s.Topology == testbed.Independent {
		return cmp.Or(s.Nodes, DefaultNodes)
	}
	return 1
}

// DefaultNodes is the size of an independent topology: RedLock's five.
const DefaultNodes = 5

// timeLimit returns the time after which a trial has certainly failed. It allows for set-up and
// teardown on a busy machine, for the disturbed part, for faults that outlast that part or wait in
// vain for their points, and for the liveness phase, each with a margin.
func (s Spec) timeLimit(c history.Claims) time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	o := s.Options
	perClient := o.Hold + o.Retry + max(s.CommandTimeout, 3*time.Second)
	return 30*time.Second + 2*max(o.Duration, s.Plan.Latest()) + 2*(max(c.Recovery, o.TTL)+o.Margin) + time.Duration(2*o.Clients*o.Keys)*perClient
}
