package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
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
	Strikes  int           // number of trials with a crash, and of trials with a frozen node
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

// aspect says what a trial measures: one client alone, clients that compete, renewals during a long
// hold, or the recovery after a client's crash or a node's freeze.
type aspect int

const (
	alone aspect = iota
	contended
	held
	crashed
	frozen
)

// faultOf has the faults of the trials that measure recoveries.
var faultOf = map[aspect]string{crashed: "client-crash", frozen: "node-pause"}

// planned is one trial of a lock; lack says why the testbed cannot run it, nil = it can.
type planned struct {
	aspect aspect
	spec   trial.Spec
	lack   error // as unable returns it
}

// plan returns the trials that measure a lock, including those that the testbed cannot run.
func (c Config) plan(ctx context.Context, tb testbed.Testbed, r locks.Recipe) ([]planned, error) {
	var all []planned
	add := func(a aspect, shape func(*trial.Spec)) error {
		spec, err := c.spec(ctx, tb, r, len(all))
		if err != nil {
			return err
		}
		shape(&spec)
		p := planned{aspect: a, spec: spec}
		if name := faultOf[a]; name != "" {
			p.lack = unable(tb, name, r)
		}
		all = append(all, p)
		return nil
	}
	if err := add(alone, c.alone); err != nil {
		return nil, err
	}
	if err := add(contended, c.contended); err != nil {
		return nil, err
	}
	if err := add(held, c.held); err != nil {
		return nil, err
	}
	for _, a := range []aspect{crashed, frozen} {
		for range c.Strikes {
			if err := add(a, func(s *trial.Spec) { c.struck(s, a) }); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// spec returns the spec of trial k, undisturbed, with a campaign's options. The seed does not
// depend on the lock: for all locks, clients draw the same decisions and the network draws the same
// latencies, so that chance differs as little as possible between locks.
func (c Config) spec(ctx context.Context, tb testbed.Testbed, r locks.Recipe, k int) (trial.Spec, error) {
	conf := campaign.DefaultConfig()
	conf.Testbed, conf.Nodes, conf.Clients, conf.TTL, conf.Duration, conf.Seed, conf.Overrun = c.Testbed, c.Nodes, c.Clients, c.TTL, c.Duration, c.Seed, 0
	w, err := c.workload(r)
	if err != nil {
		return trial.Spec{}, err
	}
	s, err := campaign.PlanTrial(ctx, tb, conf, r.ID, nemesis.Undisturbed().Name, w.Name, k)
	s.Options.Writers = true // a read-write lock then excludes like the other locks
	s.Seed = rand.New(rand.NewPCG(c.Seed, uint64(k))).Uint64N(trial.MaxSeed) + 1
	s.Options.Seed = s.Seed
	return s, err
}

// usual is the workload for all locks that it suits.
const usual = "mutex"

// workload returns the workload for a lock: the usual one, or else the first standard one that
// suits the lock.
func (c Config) workload(r locks.Recipe) (workloads.Workload, error) {
	claims := r.Claims(c.TTL, max(1, c.Nodes))
	w, ok := workloads.ByName(usual)
	if ok && w.Suits(claims) {
		return w, nil
	}
	for _, w := range campaign.StandardWorkloads() {
		if w.Suits(claims) {
			return w, nil
		}
	}
	return w, input.Errorf("no workload suits %s", r.ID)
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

// heldLeases is the number of leases that the holder works for in trials that count renewals.
const heldLeases = 5

// held makes one client hold the lock for several leases.
func (c Config) held(s *trial.Spec) {
	o := &s.Options
	o.Clients, o.Duration = 1, heldLeases*c.TTL
	o.Script = [][]workloads.Section{{{Hold: o.Duration, Retry: o.Retry, Rest: o.Rest}}}
}

// struck makes the fault strike when a client has just acquired the lock and others want it. A
// crash is for ever; a frozen node comes back after one and a half leases.
func (c Config) struck(s *trial.Spec, a aspect) {
	s.Fault = faultOf[a]
	s.Options.Duration = 4 * c.TTL
	everyone := make([]int, s.Options.Clients)
	for i := range everyone {
		everyone[i] = i
	}
	begins := nemesis.Action{
		ID: 1, Fault: s.Fault, Idea: "a client has just acquired the lock, and others wait for it",
		At: c.TTL / 2, By: 2 * c.TTL, Client: history.NoClient, Nodes: []string{"n0"},
		Point: &nemesis.Trigger{Clients: everyone, Step: testbed.StepHold},
	}
	if a == frozen {
		begins.For = c.TTL * 3 / 2
	}
	s.Plan = nemesis.Plan{begins}
}

// unable returns why a fault cannot strike the lock on the testbed; nil if it can. The error wraps
// nemesis.ErrNotSupported if the testbed lacks something that the fault needs.
func unable(tb testbed.Testbed, fault string, r locks.Recipe) error {
	f, ok := nemesis.ByName(fault)
	if !ok {
		return fmt.Errorf("no fault is called %q", fault)
	}
	_, err := nemesis.Supported(f, r.Topology, tb.Topologies(), tb.Capabilities())
	return err
}
