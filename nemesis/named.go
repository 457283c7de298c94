package nemesis

import (
	"errors"
	"fmt"
	"time"
)

// Schedule is one plan that is enumerated, not drawn: it strikes at one spot of a
// recipe's protocol, and its name says where.
type Schedule struct {
	// Name tells it from all others of its fault, recipe and workload, in lower
	// case letters, digits, dots and hyphens, so that it can name a folder:
	// "acquire.n0.1.before-1of2".
	Name    string
	Clients int // that take part
	// Writers says that all of them write, where the lock is a read-write lock.
	Writers bool
	Plan    Plan
}

// Named enumerates the schedules of a fault in a world: one for each spot of the
// protocol, as World.Points shows it, at which the fault can make a difference, and
// for each way of striking there. They depend on the world only, but not on its Clients,
// which each schedule says for itself, nor on its Duration: Plan.Length says how long
// a trial lasts. The list is empty if the fault enumerates no schedules. The error wraps
// ErrNotSupported if the fault has nothing to strike.
func Named(fault string, w World) ([]Schedule, error) {
	f, ok := ByName(fault)
	if !ok {
		return nil, fmt.Errorf("enumerate schedules: no fault is called %q", fault)
	}
	w.Clients = pair.clients
	if w.TTL <= 0 || len(w.Nodes) == 0 {
		return nil, errors.New("enumerate schedules: a world without a lease time or nodes")
	}
	w.Duration = 10 * (w.lease() + w.TTL + w.timeout())
	if why, is := f.impossible(w); is {
		return nil, why
	}
	if f.named == nil {
		return nil, nil
	}
	all := f.named(w)
	for _, s := range all {
		s.Plan.of(f)
		s.Plan.wholeMicroseconds()
	}
	return all, nil
}

// Length is how long the disturbed part of a trial should last so that all that
// the plan does usually happens in it, and somebody gets the lock afterwards.
// Where a trigger comes late Run takes longer, as long as the actions' By and
// length allow.
func (p Plan) Length(w World) time.Duration {
	ends := map[int]time.Duration{}
	var last time.Duration
	for _, a := range p {
		at := a.At
		if a.After > 0 {
			at = max(at, ends[a.After]+a.Delay)
		}
		if a.Point != nil {
			at += w.wait()
		}
		ends[a.ID] = at + a.length()
		last = max(last, ends[a.ID])
	}
	return (last + w.TTL/2).Truncate(time.Microsecond)
}
