package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// World is the input of plans: the shape of a trial and the results of a probe trial. It is data; the many functions
// of a World are those that plan faults, with each fault in its file.
type World struct {
	Clients  int              `json:"clients"`
	Nodes    []string         `json:"nodes"` // in the clients' order; {"n0"} unless independent
	Topology testbed.Topology `json:"topology"`
	// Capabilities are those of the testbed. Some faults' plans depend on them.
	Capabilities []testbed.Capability `json:"capabilities,omitempty"`
	// TTL, Hold and Retry are the workload's lease time, time in the critical
	// section and pause between attempts. Retry 0 means TTL/20.
	TTL   time.Duration `json:"ttl"`
	Hold  time.Duration `json:"hold"`
	Retry time.Duration `json:"retry"`
	// Duration is the time, since the trial's start, by which every fault must be healed.
	Duration time.Duration `json:"duration"`
	// CommandTimeout is the clients' read timeout; 0 = 3 s, as in testbed.Setup.
	CommandTimeout time.Duration `json:"commandTimeout"`
	// Sight is what a fault-free probe trial of this recipe and workload showed.
	Sight
	Claims history.Claims `json:"claims"` // the recipe's claims
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

// The following methods return durations for plans.

// lease returns how long a crashed client's lock keeps others out, as the recipe claims,
// but at least the lease time.
func (w World) lease() time.Duration { return max(w.TTL, w.Claims.Recovery) }

// outlast returns a duration that is usually longer than the lease, a retry and a hold together. In
// a trial that is too short for that, the duration is based on TTL instead of lease.
func (w World) outlast() time.Duration {
	long := w.lease() + 3*w.TTL/5
	if long > 3*w.Duration/4 {
		return w.TTL + 3*w.TTL/5
	}
	return long
}

// readable returns the minimum duration of a fault that ends when another client has the lock. It is
// 0 unless the lock is a read-write lock. With a read-write lock, the other client may be a reader
// that shares the lock with the struck one, and its grant proves nothing. So the fault outlasts the
// lease.
func (w World) readable() time.Duration {
	if w.Claims.ReadWrite {
		return w.TTL + w.TTL/10
	}
	return 0
}

// retries returns the length of a short pause: a few attempts of another client, but less than a
// lease.
func (w World) retries() time.Duration {
	retry := w.Retry
	if retry <= 0 {
		retry = w.TTL / 20
	}
	return min(max(3*retry, 2*w.Hold), w.TTL/2)
}

// readTimeout is how long the testbeds' clients wait for a reply by default. Clients of common libraries wait
// about as long or longer, before they send a command again.
const readTimeout = 3 * time.Second

// timeout returns the clients' read timeout. A client that sends commands again may wait several
// shorter times instead.
func (w World) timeout() time.Duration { return cmp.Or(w.CommandTimeout, readTimeout) }

// givenUp returns the time after which a client has given up waiting for a reply.
func (w World) givenUp() time.Duration { return w.timeout() + w.TTL/20 }

// brief returns a time that is enough for a command and its reply, but short compared to a
// lease.
func (w World) brief() time.Duration { return w.TTL / 5 }

// moment returns a short time that puts a command into a later millisecond than the command before
// it.
func (w World) moment() time.Duration { return w.TTL / 100 }

// late returns a delay within a lease that is long enough for other clients to ask for the lock
// before the release.
func (w World) late() time.Duration { return 7 * w.TTL / 10 }

// far returns a clock offset longer than any life that a recipe may give a lock.
func (w World) far() time.Duration { return max(w.TTL+w.TTL/2+time.Second, w.lease()+w.TTL) }

// wait returns the time that a client usually needs to reach a spot.
func (w World) wait() time.Duration { return min(w.Hold, w.TTL/2) + w.TTL/5 }

// start returns an instant early in the trial, when clients are at work.
func (w World) start(r *rand.Rand) time.Duration {
	jitter := time.Duration(r.Int64N(int64(w.TTL)/5 + 1))
	return min(w.Duration/4, (w.TTL/5 + jitter).Round(max(1, w.TTL/1000)))
}

// warmUp returns the time by which every client has had a turn and scripts are loaded.
func (w World) warmUp() time.Duration { return w.TTL / 2 }

// spotTimeout returns how long a schedule waits for its spots.
func (w World) spotTimeout() time.Duration { return 5 * (w.lease() + w.TTL) }
