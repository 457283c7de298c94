package nemesis

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Plan is the list of actions of one trial. IDs are unique, from 1.
type Plan []Action

// Action is one fault with its trigger, its target and its end, as data. It
// starts as soon as all of At, After, Arm and Point are satisfied, in this order.
type Action struct {
	ID    int    `json:"id"` // Window.ID in the history
	Fault string `json:"fault"`
	Idea  string `json:"idea"` // what the action should show, in a few words

	// At is the earliest start, since the trial's start.
	At time.Duration `json:"at,omitempty"`
	// After is the ID of an action whose end must be at least Delay ago; 0 = no such
	// condition.
	After int           `json:"after,omitempty"`
	Delay time.Duration `json:"delay,omitempty"`
	// Arm is a trigger that must come before Point counts; nil = no such condition.
	Arm *Trigger `json:"arm,omitempty"`
	// Point starts the action and determines its client, which is held there until the fault is in
	// force. nil = the action starts as soon as the conditions above are satisfied.
	Point *Trigger `json:"point,omitempty"`
	// By is the latest start, since the trial's start: an action that has not started by
	// then ends with 0 hits.
	By time.Duration `json:"by"`

	// Client is the struck client if there is no Point; history.NoClient if the action
	// strikes no client.
	Client int `json:"client"`
	// Nodes are the struck nodes or, for a network fault, the nodes at the struck links.
	Nodes []string `json:"nodes,omitempty"`
	// Links are the struck links of a network fault; nil = the links between clients and Nodes.
	Links []testbed.Link `json:"links,omitempty"`
	// Others are clients that are struck, or whose links are struck, instead of the client at
	// Point or, without a Point, instead of Client. If Others lists that client, it is skipped.
	Others    []int             `json:"others,omitempty"`
	Direction testbed.Direction `json:"direction,omitempty"`
	// OneConn strikes only one of the client's connections to the node of Point. Commands that the
	// client sends later over its other connections overtake the held commands.
	OneConn bool          `json:"oneConn,omitempty"`
	Offset  time.Duration `json:"offset,omitempty"` // how far a clock is set wrong
	// Values says that clients read the clock that is set. Then keys without an expiry count as
	// struck too, since their values may contain a time.
	Values     bool               `json:"values,omitempty"`
	Durability testbed.Durability `json:"durability,omitempty"` // required of the trial's nodes
	// Away is the minimum time that killed nodes stay down, even if For is shorter: the
	// recipe demands it from its operator (history.Claims.Away).
	Away time.Duration `json:"away,omitempty"`
	// Loss is the way in which the primary is lost where nodes elect its successor.
	Loss Loss `json:"loss,omitempty"`
	// Quorum is how many nodes must have a key before it counts as a lock.
	Quorum int `json:"quorum,omitempty"`

	// For is how long the action lasts; with Until, how long it lasts at least.
	For time.Duration `json:"for,omitempty"`
	// Until ends the action: the first time after For that a client reaches this point.
	// nil = the action ends after For.
	Until *Trigger `json:"until,omitempty"`
	// Linger is how long the action lasts after Until is reached. The client there goes on
	// meanwhile.
	Linger time.Duration `json:"linger,omitempty"`
	// Limit is how long the action lasts if Until is not reached.
	Limit time.Duration `json:"limit,omitempty"`
}

// length returns the longest time that an action can be in force.
func (a Action) length() time.Duration {
	if a.Until != nil {
		return max(a.For, a.Limit+a.Linger, a.Away)
	}
	return max(a.For, a.Away)
}

// Who restricts a trigger to those clients that stand in a certain relation to the struck client.
type Who = history.Who

// Relations to the struck client.
const (
	Anyone = history.Anyone
	Other  = history.Other // anyone but the struck client
	Same   = history.Same  // the struck client itself
)

// Trigger is a point in a protocol for some clients. The first of these clients to get there sets
// it off.
type Trigger history.Trigger

// point returns the trigger's point for one client.
func (t Trigger) point(client int) testbed.Point {
	return testbed.Point{
		Client: client, Step: t.Step, Node: t.Node, N: t.N, When: t.When, Skip: t.Skip,
	}
}

// New makes the plan of the k-th trial (from 0) under these faults: variant k of each
// fault, modulo its number of variants. New is a pure function. The seed affects the
// details of variants, but not their order. The error wraps ErrNotSupported if a fault has
// no way to strike in this world.
func New(seed uint64, faults []string, w World, k int) (Plan, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if k < 0 {
		return nil, fmt.Errorf("make a plan: trial number %d is negative", k)
	}
	plan, promoting := Plan{}, ""
	for _, name := range faults {
		f, ok := ByName(name)
		if !ok {
			return nil, fmt.Errorf("make a plan: no fault is called %q", name)
		}
		if f.promotes() && !f.Mix {
			if promoting != "" {
				return nil, &Unsupported{Fault: name, Why: OneHeir, Beside: promoting}
			}
			promoting = name
		}
		if why := f.impossible(w); why != nil {
			return nil, why
		}
		variants := f.variants(w, dice(seed, name, 0))
		if len(variants) == 0 {
			return nil, &Unsupported{Fault: name, Why: NoPlanFits, Span: w.Duration}
		}
		if round := k / len(variants); round > 0 {
			variants = f.variants(w, dice(seed, name, round))
		}
		plan = plan.join(variants[k%len(variants)])
	}
	plan.wholeMicroseconds()
	return plan, nil
}

// of sets the fault of the actions that name no fault.
func (p Plan) of(f Fault) {
	for i := range p {
		if p[i].Fault == "" {
			p[i].Fault = f.Name
		}
	}
}

// wholeMicroseconds truncates all times but Away to microseconds. On virtual time only network
// events happen at fractions of a microsecond.
func (p Plan) wholeMicroseconds() {
	for i := range p {
		for _, t := range []*time.Duration{&p[i].At, &p[i].Delay, &p[i].By, &p[i].Offset, &p[i].For, &p[i].Linger, &p[i].Limit} {
			*t = t.Truncate(time.Microsecond)
		}
	}
}

// dice returns the source of randomness for a fault's details in one round of its variants.
func dice(seed uint64, fault string, round int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(fault))
	return rand.New(rand.NewPCG(seed, h.Sum64()+uint64(round)))
}

// join appends q with IDs that go on from p's.
func (p Plan) join(q Plan) Plan {
	base := len(p)
	for _, a := range q {
		a.ID += base
		if a.After > 0 {
			a.After += base
		}
		p = append(p, a)
	}
	return p
}

// Durability returns the durability that the plan requires of the trial's nodes, for
// testbed.Setup; "" if it requires none.
func (p Plan) Durability() testbed.Durability {
	for _, a := range p {
		if a.Durability != "" {
			return a.Durability
		}
	}
	return ""
}

// Faults names the faults of the plan, each once, in the order of its actions.
func (p Plan) Faults() []string {
	var names []string
	for _, a := range p {
		if !slices.Contains(names, a.Fault) {
			names = append(names, a.Fault)
		}
	}
	return names
}

// Hits sums the proven hits in the windows of these faults in a trial's history. No names,
// or the name of a mix, mean all faults. A plan may use other faults as preparation; their
// hits do not count.
func Hits(ops []history.Op, faults ...string) int {
	all := len(faults) == 0 || slices.ContainsFunc(faults, Mixes)
	sum := 0
	for _, op := range ops {
		if op.Process == history.Nemesis && op.Type == history.Info && op.Window != nil &&
			(all || slices.Contains(faults, op.Window.Fault)) {
			sum += op.Window.Hits
		}
	}
	return sum
}
