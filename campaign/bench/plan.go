package bench

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Config says what to measure, and how.
type Config struct {
	Locks    []locks.Recipe
	Baseline locks.Recipe // measured even if Locks lacks it
	Testbed  string
	Nodes    int // number of nodes of an independent topology; 0 = trial.DefaultNodes
	Clients  int // number of clients that want the lock at once, at least 2
	TTL      time.Duration
	Duration time.Duration // of the trial with one client and of the contended trial
	Seed     uint64        // at most trial.MaxSeed
}

// check returns an input.Error for the first flag that is invalid here. campaign.PlanTrial checks what
// every campaign needs.
func (c Config) check() error {
	switch {
	case c.Clients < 2:
		return input.Errorf("%s %d: expected at least 2, which want the lock at once", input.Setting("clients"), c.Clients)
	case c.TTL < time.Second/10:
		return input.Errorf("%s %v: expected at least 100ms: holds are a hundredth of it", input.Setting("ttl"), c.TTL)
	case c.Duration < c.TTL:
		return input.Errorf("%s %v: expected at least %v, the lease time", input.Setting("duration"), c.Duration, c.TTL)
	}
	return nil
}

// planned is one trial of a lock.
type planned struct {
	contended bool // clients compete; otherwise one client is alone
	spec      trial.Spec
}

// plan returns the trials that measure a lock.
func (c Config) plan(ctx context.Context, tb testbed.Testbed, r locks.Recipe) ([]planned, error) {
	alone, err := c.spec(ctx, tb, r, 0)
	if err != nil {
		return nil, err
	}
	contended, err := c.spec(ctx, tb, r, 1)
	if err != nil {
		return nil, err
	}
	c.alone(&alone)
	c.contended(&contended)
	return []planned{{false, alone}, {true, contended}}, nil
}

// spec returns the spec of trial k, undisturbed, with a campaign's options. The seed does not
// depend on the lock: for all locks, clients draw the same decisions and the network draws the same
// latencies, so that chance differs as little as possible between locks.
func (c Config) spec(ctx context.Context, tb testbed.Testbed, r locks.Recipe, k int) (trial.Spec, error) {
	conf := campaign.DefaultConfig()
	conf.Testbed, conf.Nodes, conf.Clients, conf.TTL, conf.Duration, conf.Seed, conf.Overrun = c.Testbed, c.Nodes, c.Clients, c.TTL, c.Duration, c.Seed, 0
	w, ok := campaign.UsualWorkload(r.Claims(c.TTL, max(1, c.Nodes)))
	if !ok {
		return trial.Spec{}, input.Errorf("no workload suits %s", r.ID)
	}
	s, err := campaign.PlanTrial(ctx, tb, conf, r.ID, nemesis.Undisturbed().Name, w.Name, k)
	s.Options.Writers = true // a read-write lock then excludes like the other locks
	s.Seed = rand.New(rand.NewPCG(c.Seed, uint64(k))).Uint64N(trial.MaxSeed) + 1
	s.Options.Seed = s.Seed
	return s, err
}

// alone makes one client take the lock again and again, with short holds.
func (c Config) alone(s *trial.Spec) {
	o := &s.Options
	o.Clients, o.Hold, o.Rest = 1, c.TTL/1000, c.TTL/1000
}

// crowdRetry times the number of clients is the minimum of the mean retry interval, as in
// campaigns. All clients together then make about 2,000 attempts a second at most, which a
// redis-server behind gate, proxy and tap can serve.
const crowdRetry = 500 * time.Microsecond

// Hold returns how long clients hold a contended lock, given the lease time.
func Hold(ttl time.Duration) time.Duration { return ttl / 100 }

// contended makes all clients want the lock at once.
func (c Config) contended(s *trial.Spec) {
	o := &s.Options
	hold := Hold(c.TTL)
	o.Hold, o.Rest, o.Retry = hold, hold, max(hold, time.Duration(c.Clients)*crowdRetry)
}
