package nemesis

import (
	"errors"
	"fmt"
	"time"
)

// Schedule is an enumerated plan, not a drawn one. It strikes at one spot of a recipe's
// protocol, and its name says where.
type Schedule struct {
	// Name is unique among the schedules of its fault, recipe and workload. It consists of
	// lower-case letters, digits, dots and hyphens, so that it can name a folder:
	// "acquire.n0.1.before-1of2".
	Name    string
	Clients int // that take part
	// Writers says that all clients of a read-write lock write.
	Writers bool
	// Size of the fault in lease times, in a schedule of a sweep; else 0.
	Size float64
	Plan Plan
}

// Named enumerates the schedules of a fault in a world: one for each spot of the protocol,
// as World.Points shows it, at which the fault can make a difference, and for each way of
// striking there. They depend only on the world, except for its Clients, which each
// schedule sets itself, and its Duration, which Plan.Length sets. The list is empty if the
// fault enumerates no schedules. The error wraps ErrNotSupported if the fault has nothing
// to strike.
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

// Length returns how long the disturbed part of a trial should last: usually long enough
// for all actions of the plan and for a grant afterwards. If a trigger comes late, Run
// takes longer, within the limits of the actions' By and length.
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

// Latest returns the latest time at which an action of the plan can end, since the trial's
// start: later than Length if triggers come late or never.
func (p Plan) Latest() (last time.Duration) {
	for _, a := range p {
		last = max(last, max(a.At, a.By)+a.length())
	}
	return last
}
