package nemesis

import (
	"errors"
	"fmt"
	"time"
)

// Schedule is one plan that is enumerated, not drawn: it strikes at one place of
// a recipe's protocol, and its name says where.
type Schedule struct {
	// Name tells it from all others of its fault, recipe and workload, in lower
	// case letters, digits, dots and hyphens, so that it can name a folder:
	// "acquire.n0.1.before-1of2".
	Name    string
	Clients int // that take part
	// Writers: of a read-write lock, none of them only reads.
	Writers bool
	Plan    Plan
}

// Named enumerates the schedules of a fault in a world: one for each place in
// the protocol that World.Points shows where the fault can make a difference,
// and for each way of striking there. They depend on nothing but the world, and
// in it neither on Clients, which each schedule says for itself, nor on
// Duration: Plan.Length says how long its trial lasts. None at all means that the
// fault has nothing that could be enumerated. The error wraps ErrNotSupported if
// it has nothing to strike.
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
