package workloads

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Options are the parameters of a workload. All durations are on the trial's clock.
type Options struct {
	Clients int `json:"clients"` // concurrent client processes, at least 1
	Keys    int `json:"keys"`    // locks that clients choose from, at least 1
	// TTL is the lease time that clients ask for.
	TTL time.Duration `json:"ttl"`
	// Hold is the mean work time of a critical section between its touches of the resource. Each
	// section draws 0.5 to 1.5 times as much. With equal holds, the first client to enter would
	// never be the last to leave, and flaws that need this order would stay hidden.
	Hold time.Duration `json:"hold"`
	// Rest is the mean pause between two critical sections of a client.
	Rest time.Duration `json:"rest"`
	// Retry is the mean interval between attempts at a busy lock; each section draws 0.5 to
	// 1.5 times as much.
	Retry time.Duration `json:"retry"`
	// Duration is the time for faults, before the liveness phase.
	Duration time.Duration `json:"duration"`
	// Margin is extra time, beyond the recipe's recovery time, for each client to acquire every
	// lock once in the liveness phase.
	Margin time.Duration `json:"margin"`
	// Overrun is the share of critical sections, 0 to 1, that work for 1.5 TTL.
	Overrun float64 `json:"overrun,omitempty"`
	// Tokens says where the locks' tokens come from; "" = DrawnTokens.
	Tokens Tokens `json:"tokens,omitempty"`
	// Trusting says that clients check neither the deadline nor Lost.
	Trusting bool `json:"trusting,omitempty"`
	// Writers says that all critical sections of a read-write lock write.
	Writers bool `json:"writers,omitempty"`
	// Seed determines every choice that clients make. It is at most 1<<53 so that JSON keeps it
	// exactly.
	Seed uint64 `json:"seed"`
	// Script lists, for each client, the critical sections that the client runs before it waits
	// for the liveness phase. A client without a list runs none. If Script is empty, clients run
	// sections from Workload.Decide until the liveness phase.
	Script [][]Section `json:"script,omitempty"`
}

// Tokens is the source of locks' tokens.
type Tokens string

// Sources of tokens.
const (
	// DrawnTokens: the recipe draws the tokens, usually a random one for each attempt.
	DrawnTokens Tokens = "drawn"
	// ClientTokens: tokens are the clients' names, as if a service passed its instance's name. A
	// client uses the same token for all attempts. A lock that is no locks.TokenLocker still draws
	// its own.
	ClientTokens Tokens = "client"
)

// Validate returns an error if no trial can run with the options. The options may come from a
// file.
func (o Options) Validate() error {
	if o.Clients < 1 || o.Keys < 1 {
		return fmt.Errorf("%d clients and %d keys: expected at least 1 of each", o.Clients, o.Keys)
	}
	if !slices.Contains([]Tokens{"", DrawnTokens, ClientTokens}, o.Tokens) {
		return fmt.Errorf("tokens are %q: expected %s or %s", o.Tokens, DrawnTokens, ClientTokens)
	}
	if o.Overrun < 0 || o.Overrun > 1 || o.Overrun != o.Overrun {
		return fmt.Errorf("overrun is %v: expected 0 to 1", o.Overrun)
	}
	if err := notNegative(
		span{"ttl", o.TTL}, span{"hold", o.Hold}, span{"rest", o.Rest}, span{"retry", o.Retry},
		span{"duration", o.Duration}, span{"margin", o.Margin},
	); err != nil {
		return err
	}
	if len(o.Script) > o.Clients {
		return fmt.Errorf("the script has lists for %d clients: expected at most %d", len(o.Script), o.Clients)
	}
	for client, list := range o.Script {
		for n, s := range list {
			if err := s.validate(o.Keys); err != nil {
				return fmt.Errorf("script of client %d, section %d: %w", client, n, err)
			}
		}
	}
	return nil
}

// validate returns an error if no client can run the section.
func (s Section) validate(keys int) error {
	switch {
	case s.Lock < 0 || s.Lock >= keys:
		return fmt.Errorf("lock %d: expected 0 to %d", s.Lock, keys-1)
	case !slices.Contains([]history.Mode{"", history.Read, history.Write}, s.Mode):
		return fmt.Errorf("mode %q: expected %s, %s or none", s.Mode, history.Read, history.Write)
	case s.Depth < 0:
		return fmt.Errorf("depth %d is negative", s.Depth)
	}
	return notNegative(span{"retry", s.Retry}, span{"hold", s.Hold}, span{"late", s.Late}, span{"rest", s.Rest}, span{"patience", s.Patience})
}

// span is a duration with its name for error messages.
type span struct {
	name string
	d    time.Duration
}

func notNegative(spans ...span) error {
	for _, s := range spans {
		if s.d < 0 {
			return fmt.Errorf("%s is %v: expected 0 or more", s.name, s.d)
		}
	}
	return nil
}

// outlast returns one and a half leases.
func (o Options) outlast() time.Duration { return (o.TTL * 3 / 2).Round(time.Microsecond) }

// longest returns the longest hold that does not overrun.
func (o Options) longest() time.Duration { return (o.Hold * 3 / 2).Round(time.Microsecond) }

// polls returns the maximum for D1's bounded polling (locks.Poll). It allows attempts for about one
// lease, so that a client gives up only if the lock is not released in time.
func (o Options) polls() int {
	return max(2, int(o.TTL/max(o.Retry, time.Microsecond))) + 1
}

// detained returns how much longer than usual a critical section of this workload may last
// if it began before the liveness phase.
func (w Workload) detained(o Options) (d time.Duration) {
	if o.Overrun > 0 {
		d += o.outlast()
	}
	if w.late {
		d += o.outlast()
	}
	for _, list := range o.Script {
		for _, s := range list {
			if s.Hold <= o.longest() {
				s.Hold = 0
			}
			d = max(d, s.Hold+s.Late)
		}
	}
	return d
}
