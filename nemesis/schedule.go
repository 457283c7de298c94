package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Schedule is a plan that is enumerated rather than drawn. It strikes at one spot of a recipe's
// protocol, and its name says where.
type Schedule struct {
	// Name is unique among the schedules of its fault, recipe and workload. It consists of
	// lower-case letters, digits, dots and hyphens, so that it can name a folder:
	// "acquire.n0.1.before-1of2".
	Name    string
	Clients int // number of clients that take part
	// Writers says that all clients of a read-write lock write.
	Writers bool
	// Size is the fault's size in lease times, in a schedule of a sweep; else 0.
	Size float64
	Plan Plan
}

// Named enumerates the schedules of a fault in a world. There is one for each spot of the protocol
// at which the fault can make a difference, and for each way of striking there. World.Points shows
// the spots. The schedules depend only on the world, but not on its Clients and its Duration: each
// schedule has its own Clients, and Plan.Length returns its duration. The list is empty if the
// fault enumerates no schedules. The error wraps ErrNotSupported if the fault has nothing to
// strike.
func Named(fault string, w World) ([]Schedule, error) {
	w.Clients = pair.clients
	return enumerated(fault, w, func(f Fault) func(World) []Schedule { return f.schedules })
}

// enumerated returns the schedules that a function of the fault enumerates; none if the function is nil.
func enumerated(fault string, w World, of func(Fault) func(World) []Schedule) ([]Schedule, error) {
	f, ok := ByName(fault)
	if !ok {
		return nil, fmt.Errorf("enumerate schedules: no fault is called %q", fault)
	}
	if w.TTL <= 0 || len(w.Nodes) == 0 {
		return nil, errors.New("enumerate schedules: a world without a lease time or nodes")
	}
	schedules := of(f)
	if schedules == nil {
		return nil, nil
	}
	w.Duration = 10 * (w.lease() + w.TTL + w.timeout())
	if why := f.impossible(w); why != nil {
		return nil, why
	}
	all := schedules(w)
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

// enumeration collects a fault's named schedules.
type enumeration struct {
	World
	all []Schedule
}

func (w World) enumerate() *enumeration { return &enumeration{World: w} }

// at returns an action that strikes the first of these clients to reach the spot.
func (e *enumeration) at(s spot, idea string, clients []int, l lineup) Action {
	return e.timed(e.action(s, idea, clients, l))
}

// timed sets an action's earliest and latest start, and sets its Client to history.NoClient.
func (e *enumeration) timed(a Action) Action {
	a.Client, a.At, a.By = history.NoClient, e.warmUp(), e.spotTimeout()
	return a
}

// add adds a schedule with one action for each entry of l.struck, all at spot s and all changed by
// shape. The variant distinguishes schedules at one spot; it may be empty.
func (e *enumeration) add(l lineup, s spot, variant, idea string, shape func(*Action)) {
	var p Plan
	for _, who := range l.struck {
		a := e.at(s, idea, who, l)
		shape(&a)
		p = append(p, a)
	}
	e.plan(l, scheduleName(s, variant), p...)
}

// writers adds a schedule in which two clients take part, both write, and one of them is struck. It
// does so only for a read-write lock. In other schedules of such a lock chance decides which clients
// read and which write.
func (e *enumeration) writers(s spot, variant, idea string, shape func(*Action)) {
	if !e.Claims.ReadWrite {
		return
	}
	e.add(pair, s, join(variant, "writers"), idea, shape)
	e.all[len(e.all)-1].Writers = true
}

// plan adds a schedule of these actions and gives them their IDs.
func (e *enumeration) plan(l lineup, name string, actions ...Action) {
	for i := range actions {
		actions[i].ID = i + 1
	}
	e.all = append(e.all, Schedule{Name: name + "-" + l.name, Clients: l.clients, Plan: actions})
}

// scheduleName joins a spot's name with a variant's, such as "acquire.n0.1.before" and "free".
func scheduleName(s spot, variant string) string { return join(s.String(), variant) }

// join joins the nonempty names of variants with dots.
func join(variants ...string) string {
	name := ""
	for _, v := range variants {
		if name != "" && v != "" {
			name += "."
		}
		name += v
	}
	return name
}

// unique keeps only the first of several schedules with the same name. A read-write lock has such
// duplicates, because World.one returns trio for it.
func unique(all []Schedule) []Schedule {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Schedule) bool {
		again := seen[s.Name]
		seen[s.Name] = true
		return again
	})
}
