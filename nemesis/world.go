package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// World is what plans are made for: the shape of a trial.
type World struct {
	Clients  int              `json:"clients"`
	Nodes    []string         `json:"nodes"` // that clients talk to, in their order; {"n0"} unless the topology is independent
	Topology testbed.Topology `json:"topology"`
	// Capabilities are what the testbed's worlds are capable of, for faults that
	// choose among others.
	Capabilities []testbed.Capability `json:"capabilities,omitempty"`
	// TTL, Hold and Retry are the workload's lease time, time in the critical
	// section and pause between attempts. Retry 0 means TTL/20.
	TTL   time.Duration `json:"ttl"`
	Hold  time.Duration `json:"hold"`
	Retry time.Duration `json:"retry"`
	// Duration is when every fault must be healed, since the trial's start.
	Duration time.Duration `json:"duration"`
	// CommandTimeout is the clients' read timeout; 0 = 3 s, as testbed.Setup.
	CommandTimeout time.Duration `json:"commandTimeout"`
	// Points are the points that a fault-free trial of this recipe and workload
	// passed, from Points. Their Client means nothing.
	Points []testbed.Point `json:"points"`
	// Deadlines says that leases of that trial claimed a deadline, from Deadlines.
	Deadlines bool `json:"deadlines,omitempty"`
	// Scripts says that clients of that trial ran Lua scripts, from Scripts.
	Scripts bool `json:"scripts,omitempty"`
	// Times says that clients of that trial asked nodes for the time, from AsksTime.
	Times bool `json:"times,omitempty"`
	// KeyLife is the longest life that grants had on their keys in that trial, from
	// KeyLife; 0 = they never expire.
	KeyLife time.Duration  `json:"keyLife,omitempty"`
	Claims  history.Claims `json:"claims"`
}

// check refuses a world in which no plan could be made.
func (w World) check() error {
	switch {
	case w.Clients < 1:
		return fmt.Errorf("make a plan: %d clients", w.Clients)
	case len(w.Nodes) == 0:
		return errors.New("make a plan: no nodes")
	case w.TTL <= 0 || w.Duration <= 0:
		return fmt.Errorf("make a plan: lease time %v and duration %v must be positive", w.TTL, w.Duration)
	}
	return nil
}

// Lengths of time that plans are made of.

// lease is how long the lock of a client that stopped keeps others out, by the
// recipe's own word; the lease time if it does so for ever.
func (w World) lease() time.Duration { return max(w.TTL, w.Claims.Recovery) }

// outlast is longer than the lease by more than a retry and a hold, but leaves room
// for a trigger: where a trial is too short to outlast a recovery, it is longer than
// the lease time only.
func (w World) outlast() time.Duration {
	long := w.lease() + 3*w.TTL/5
	if long > 3*w.Duration/4 {
		return w.TTL + 3*w.TTL/5
	}
	return long
}

// readable is how long a fault must last at least before "another has the lock"
// means something: a reader gets in beside a reader, so the lease must be over.
func (w World) readable() time.Duration {
	if w.Claims.ReadWrite {
		return w.TTL + w.TTL/10
	}
	return 0
}

// retries is a stall of some attempts, shorter than a lease.
func (w World) retries() time.Duration {
	retry := w.Retry
	if retry <= 0 {
		retry = w.TTL / 20
	}
	return min(max(3*retry, 2*w.Hold), w.TTL/2)
}

// timeout is the clients' read timeout.
func (w World) timeout() time.Duration {
	if w.CommandTimeout > 0 {
		return w.CommandTimeout
	}
	return 3 * time.Second
}

// givenUp is when a client has given up waiting for a reply.
func (w World) givenUp() time.Duration { return w.timeout() + w.TTL/20 }

// brief is long enough for a command and its reply, and short beside a lease.
func (w World) brief() time.Duration { return w.TTL / 5 }

// moment is long enough that a command does not repeat, in the same millisecond,
// what another has just done.
func (w World) moment() time.Duration { return w.TTL / 100 }

// late is how late a holder may be within its lease: others ask before it gives the
// lock back.
func (w World) late() time.Duration { return 7 * w.TTL / 10 }

// far is past every life that a recipe may give a lock by somebody's clock.
func (w World) far() time.Duration { return max(w.TTL+w.TTL/2+time.Second, w.lease()+w.TTL) }

// wait is how long a client usually needs to reach a spot.
func (w World) wait() time.Duration { return min(w.Hold, w.TTL/2) + w.TTL/5 }

// start is an instant early in the trial, when clients are at work.
func (w World) start(r *rand.Rand) time.Duration {
	jitter := time.Duration(r.Int64N(int64(w.TTL)/5 + 1))
	return min(w.Duration/4, (w.TTL/5 + jitter).Round(max(1, w.TTL/1000)))
}

// settled is when every client has had a turn and scripts are loaded.
func (w World) settled() time.Duration { return w.TTL / 2 }

// patience is how long a schedule waits for its spots.
func (w World) patience() time.Duration { return 5 * (w.lease() + w.TTL) }
