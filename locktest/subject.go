package locktest

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/workloads"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// traits are the features that a lock's leases have, as a fault-free trial shows. Each combination
// of traits is a recipe of its own, with an id such as "TestLock+extend+fence". A trial's spec
// names the recipe, so a worker process knows the traits and judges the trial as its parent does.
type traits struct {
	extends, deadlines, fenced, readWrite bool
}

// id returns the id of the recipe for a lock with these traits, such as "TestLock+extend+fence".
func (t traits) id(lock string) string {
	for _, part := range []struct {
		has  bool
		name string
	}{{t.extends, "+extend"}, {t.deadlines, "+until"}, {t.fenced, "+fence"}, {t.readWrite, "+rw"}} {
		if part.has {
			lock += part.name
		}
	}
	return lock
}

func allTraits() (all []traits) {
	for bits := range 16 {
		all = append(all, traits{bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0})
	}
	return all
}

type lock struct {
	name string
	make Subject
	Options
}

// register makes the lock known to trials of this process until the returned function is called.
func (l lock) register() (unregister func()) {
	for _, t := range allTraits() {
		locks.Register(l.recipe(t))
	}
	return func() {
		for _, t := range allTraits() {
			locks.Unregister(t.id(l.name))
		}
	}
}

// recipe describes the lock to trials. It declares the limits of any lease with these traits. The lock
// is to blame for every other violation.
func (l lock) recipe(t traits) locks.Recipe {
	topology := locks.Single
	if l.Nodes > 0 {
		topology = locks.Independent
	}
	return locks.Recipe{
		ID: t.id(l.name), Own: true, Summary: l.name, Topology: topology,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			return history.Claims{
				Quorum: nodes/2 + 1, TTL: ttl, Recovery: ttl,
				Extends: t.extends, Fenced: t.fenced, Renews: l.Renews,
				ReadWrite: t.readWrite, Reentrant: l.Reentrant, Waits: l.Blocking,
			}
		},
		Flaws: locks.Limits(locks.Known{Deadlines: t.deadlines, Fenced: t.fenced, Renews: l.Renews, Reentrant: l.Reentrant}),
		New:   func(c *locks.Client) (locks.Maker, error) { return l.bind(t, c) },
	}
}

// bind calls the Subject for a client process. If the Subject has readers although the traits do not,
// every attempt fails with errReaders: traitsOf learns from this error that the lock has readers.
func (l lock) bind(t traits, c *locks.Client) (locks.Maker, error) {
	view := newClient(c)
	write, err := l.make(view)
	if err != nil {
		return nil, err
	}
	read := view.read
	switch {
	case write == nil:
		return nil, errNoAcquire
	case read == nil && view.reads:
		return nil, errNoReaders
	case read == nil && t.readWrite:
		return nil, errors.New("the Subject called Client.Readers for other clients, but not for this one")
	case read != nil && !t.readWrite:
		write = func(context.Context, string, time.Duration) (Held, error) { return Held{}, errReaders }
	}
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		if !t.readWrite {
			return l.handle(write, key, ttl), nil
		}
		return rwHandle{l.handle(write, key, ttl), l.handle(read, key, ttl)}, nil
	}, nil
}

func (l lock) handle(acquire Acquire, key string, ttl time.Duration) locks.Lock {
	h := &handle{acquire: acquire, key: key, ttl: ttl, monotonic: l.Monotonic || !l.WallClock}
	if l.Blocking {
		return blockingHandle{h}
	}
	return h
}

// allFaults returns the faults that can strike the lock. It leaves out faults that need a Redis
// Cluster. It leaves out faults of a client's wall clock unless the lock reads that clock. For a
// majority of independent nodes it leaves out faults that need replicas.
func (o Options) allFaults() (names []string) {
	have := []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}
	topology := locks.Single
	if o.Nodes > 0 {
		topology = locks.Independent
	}
	for _, f := range nemesis.All() {
		suits := slices.ContainsFunc(f.Topologies(topology), func(t testbed.Topology) bool { return slices.Contains(have, t) })
		if suits && (o.WallClock || !slices.Contains(f.Needs, testbed.CanClocks)) {
			names = append(names, f.Name)
		}
	}
	return names
}

// traitsOf reads the lock's traits from a fault-free trial whose clients tried to extend their
// leases. acquired reports whether anybody acquired the lock. failed is the first error of an attempt
// other than ErrBusy and errReaders; "" if there was none.
func traitsOf(r trial.Record) (t traits, acquired bool, failed string) {
	for _, op := range r.Evidence.Ops {
		switch {
		case op.F == history.FAcquire && op.Type == history.OK:
			acquired = true
			if l := op.Lease; l != nil {
				t.deadlines, t.fenced = t.deadlines || l.Deadline > 0, t.fenced || l.Fence > 0
			}
		case op.F == history.FAcquire && op.Error == errReaders.Error():
			t.readWrite = true
		case op.F == history.FAcquire && op.Error != "" && failed == "":
			failed = op.Error
		case op.F == history.FExtend && op.Type != history.Invoke && op.Error != errNoExtend.Error():
			t.extends = true
		}
	}
	return t, acquired, failed
}

// renews reports whether a client prolonged the life of its own key while none of its operations
// was under way.
func renews(e history.Evidence) bool {
	for _, s := range keyspace.Read(e).Steps {
		if s.Cmd < 0 || s.Owner == nil {
			continue
		}
		by, c := e.Commands[s.Cmd], e.Keys[s.Change]
		if by.Op < 0 && by.Client == s.Owner.Client && c.Before != nil && c.After != nil && c.After.Expires > c.Before.Expires && c.Before.Expires > 0 {
			return true
		}
	}
	return false
}

// overstayed returns the longest time by which an acquire outlasted the end of its context, in a
// fault-free trial of the workload "cancel"; 0 if none did.
func overstayed(r trial.Record, cancel workloads.Workload, o workloads.Options) (late time.Duration) {
	// By client. begun: the number of attempts so far. until: the end of the latest attempt's context.
	begun, until := map[int]int{}, map[int]time.Duration{}
	for _, op := range r.Evidence.Ops {
		switch {
		case op.F == history.FHealed:
			return late // from now on, clients wait without a limit
		case op.F == history.FAcquire && op.Type == history.Invoke:
			// A client's n-th attempt belongs to its n-th critical section.
			s := cancel.Decide(o, op.Client, begun[op.Client])
			begun[op.Client]++
			if until[op.Client] = op.Time + s.Patience; s.Patience == 0 {
				until[op.Client] = math.MaxInt64
			}
		case op.F == history.FAcquire:
			late = max(late, op.Time-until[op.Client])
		}
	}
	return late
}
