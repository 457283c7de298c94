package locktest

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// Options say what a lock promises, what the test requires of it, and how much the test tries. The
// zero value suits most locks on one Redis.
type Options struct {
	// TTL is the lease time that clients ask for, at least 10 ms; 0 = 30 s. Time is virtual: long
	// leases cost nothing.
	TTL time.Duration
	// Patience is the longest time that a call of the lock takes if Redis does not answer,
	// including all retries of its Redis client. It is from 1 ms to one minute; 0 = 25 s, which is
	// enough for go-redis 9.23 with its defaults: four attempts of 5 s, and the times between them.
	// A client that is stuck for longer than Patience counts as blocked. A Patience below TTL/2 is
	// raised to TTL/2, at most one minute, because a client that waits for a reply may hold a lease.
	Patience time.Duration
	// Nodes is the number of independent Redis nodes of a lock that needs a majority of nodes, like
	// Redlock: 2 to 16; 0 = one node.
	Nodes int
	// Clients is the number of client processes, at least 2; 0 = 3.
	Clients int
	// Faults are names or globs of faults; empty = all faults that can strike the lock. "lockstorm
	// list faults" and docs/faults.md describe the faults.
	Faults []string
	// Trials is the number of random trials per fault and workload. Seed determines these trials.
	// The named trials run in addition; they strike at each command in turn. 0 = 2, negative =
	// none.
	Trials int
	// Seed is the seed of the random trials, at most trial.MaxSeed (2^53 - 1); 0 = 1. In Run the
	// flag -lockstorm.seed takes precedence.
	Seed uint64
	// Budget is the real time for trials; 0 = one minute. The result reports the trials that the
	// budget cuts off. Shrinking takes up to a quarter of the budget in addition. Run lowers a
	// larger budget to 45 % of the time left until the test's deadline (go test -timeout).
	Budget time.Duration
	// Replay names the only trial to run: WORKLOAD/SCHEDULE or WORKLOAD/NUMBER, as Flaw.Replay and
	// Violation.Replay do. The trial is not shrunk. It is an error (ErrNoTrial) if none of Faults has
	// such a trial. "" = all trials. In Run the flag -lockstorm.replay takes precedence.
	Replay string
	// Short runs, of the named trials, the quarter that taught most of other locks, and at most one random trial per fault and
	// workload. Run sets Short under go test -short.
	Short bool

	// Renews: the lock promises to renew its lease for as long as its holder works. Without Renews
	// a lease that ends under a working holder is a limit.
	Renews bool
	// Fencing: every grant must carry a fencing token, Held.Fence.
	Fencing bool
	// Reentrant: a client that holds the lock acquires it again at once. It releases the lock as
	// often as it acquired it, and only the last release frees the lock.
	Reentrant bool
	// Blocking: Acquire waits while somebody else has the lock, until it gets the lock, gives up
	// (ErrBusy), or ctx ends. Without any fault it returns within TTL/20 of ctx's end.
	Blocking bool
	// WallClock: the lock reads Client.Now. The default faults then include client-skew. Held.Until is
	// an instant of that clock, unless Monotonic is set.
	WallClock bool
	// Monotonic: Held.Until is an instant of time.Now although the lock reads Client.Now (WallClock).
	Monotonic bool
}

// An Option changes the options of Run or Recipe. Functions like RequireFencing are Options
// themselves; functions like TTL return an Option.
type Option func(*Options)

// TTL sets the lease time that clients ask for, at least 10 ms (Options.TTL). The default is 30 s.
func TTL(d time.Duration) Option { return func(o *Options) { o.TTL = d } }

// Patience sets the longest time that a call of the lock takes if Redis does not answer
// (Options.Patience). The default is 25 s.
func Patience(d time.Duration) Option { return func(o *Options) { o.Patience = d } }

// Nodes sets the number of independent Redis nodes of a lock like Redlock, 2 to 16 (Options.Nodes).
// The default is one node.
func Nodes(n int) Option { return func(o *Options) { o.Nodes = n } }

// Clients sets the number of client processes, at least 2 (Options.Clients). The default is 3.
func Clients(n int) Option { return func(o *Options) { o.Clients = n } }

// Faults sets the names or globs of the faults to test (Options.Faults). The default is all faults
// that can strike the lock.
func Faults(names ...string) Option { return func(o *Options) { o.Faults = names } }

// Trials sets the number of random trials per fault and workload (Options.Trials). The default is
// 2; negative = none.
func Trials(n int) Option { return func(o *Options) { o.Trials = n } }

// Seed sets the seed of the random trials (Options.Seed). The default is 1.
func Seed(seed uint64) Option { return func(o *Options) { o.Seed = seed } }

// Budget sets the real time for trials (Options.Budget). The default is one minute.
func Budget(d time.Duration) Option { return func(o *Options) { o.Budget = d } }

// PromiseRenewal says that the lock promises to renew its lease for as long as its holder works
// (Options.Renews).
func PromiseRenewal(o *Options) { o.Renews = true }

// RequireFencing requires that every grant carries a fencing token (Options.Fencing).
func RequireFencing(o *Options) { o.Fencing = true }

// Reentrant says that a client that holds the lock may acquire it again (Options.Reentrant).
func Reentrant(o *Options) { o.Reentrant = true }

// Blocking says that Acquire waits while somebody else has the lock (Options.Blocking).
func Blocking(o *Options) { o.Blocking = true }

// Monotonic says that Held.Until is an instant of time.Now although the lock reads Client.Now
// (Options.Monotonic).
func Monotonic(o *Options) { o.Monotonic = true }

// WallClock says that the lock reads Client.Now (Options.WallClock). The default faults then include
// client-skew.
func WallClock(o *Options) { o.WallClock = true }

var (
	_ Option = PromiseRenewal
	_ Option = RequireFencing
	_ Option = Reentrant
	_ Option = Blocking
	_ Option = WallClock
	_ Option = Monotonic
)

// The defaults of fields of Options that are 0.
const (
	defaultTTL      = 30 * time.Second
	defaultPatience = 25 * time.Second
	defaultTrials   = 2
	defaultBudget   = time.Minute
)

// filled returns the options with defaults for unset fields. The error names the first invalid
// field.
func (o Options) filled() (Options, error) {
	o.TTL, o.Patience = cmp.Or(o.TTL, defaultTTL), cmp.Or(o.Patience, defaultPatience)
	o.Budget, o.Seed, o.Trials = cmp.Or(o.Budget, defaultBudget), cmp.Or(o.Seed, 1), cmp.Or(o.Trials, defaultTrials)
	if o.Short {
		o.Trials = min(o.Trials, 1)
	}
	switch {
	case o.TTL < 10*time.Millisecond:
		return o, fmt.Errorf("locktest: TTL is %v: expected at least 10ms", o.TTL)
	case o.Patience < time.Millisecond || o.Patience > time.Minute:
		return o, fmt.Errorf("locktest: Patience is %v: expected 1ms to 1m", o.Patience)
	case o.Nodes < 0 || o.Nodes == 1 || o.Nodes > 16:
		return o, fmt.Errorf("locktest: Nodes is %d: expected 2 to 16, or 0 for one node", o.Nodes)
	case o.Clients < 0 || o.Clients == 1:
		return o, fmt.Errorf("locktest: Clients is %d: expected at least 2, or 0 for the default", o.Clients)
	case o.Budget < 0:
		return o, fmt.Errorf("locktest: Budget is %v: expected a positive duration", o.Budget)
	case o.Seed > trial.MaxSeed:
		return o, fmt.Errorf("locktest: Seed is %d: expected at most %d", o.Seed, uint64(trial.MaxSeed))
	}
	return o, nil
}

func (o *Options) short() {
	o.Short = o.Short || testing.Short()
}

// config returns the options as a campaign's configuration for a lock.
func (o Options) config(lock string) campaign.Config {
	c := campaign.DefaultConfig()
	c.Testbed, c.Locks, c.Faults = "sim", []string{lock}, o.Faults
	if len(c.Faults) == 0 {
		c.Faults = o.allFaults()
	}
	c.TTL, c.Duration, c.Seed, c.Parallel = o.TTL, durationTTLs*o.TTL, o.Seed, 1
	c.CommandTimeout = min(max(o.Patience, o.TTL/2), time.Minute)
	c.Nodes, c.Clients, c.Named = o.Nodes, o.Clients, true
	c.Trials = o.Trials
	if o.Trials < 0 {
		c.Trials, c.NamedOnly = 0, true
	}
	return c
}

// durationTTLs is the length of a random trial's disturbed part, as a multiple of TTL. Every plan
// of faults fits into it.
const durationTTLs = 5
