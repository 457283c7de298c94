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

// Plan is what happens in one trial, as data. IDs are unique, from 1.
type Plan []Action

// Action is one fault with its trigger, its target and its end, as data. It
// starts as soon as all of At, After, Arm and Point are satisfied, in this order.
type Action struct {
	ID    int    `json:"id"` // Window.ID in the history
	Fault string `json:"fault"`
	Idea  string `json:"idea"` // what this is meant to show, in a few words

	// At is the earliest start, since the trial's start.
	At time.Duration `json:"at,omitempty"`
	// After is the ID of an action that must have ended Delay ago; 0 = none.
	After int           `json:"after,omitempty"`
	Delay time.Duration `json:"delay,omitempty"`
	// Arm must be passed before Point counts; nil = no such condition.
	Arm *Trigger `json:"arm,omitempty"`
	// Point starts the action and names its client, which is held there until
	// the fault is in force; nil = it starts at once.
	Point *Trigger `json:"point,omitempty"`
	// By is when to give up waiting for a start: the action then ends with 0 hits.
	By time.Duration `json:"by"`

	// Client is whom it strikes if no Point names one; history.NoClient if it concerns no
	// client.
	Client int `json:"client"`
	// Nodes are the nodes it strikes, or whose links to the struck client it strikes.
	Nodes []string `json:"nodes,omitempty"`
	// Links are struck instead, if given.
	Links []testbed.Link `json:"links,omitempty"`
	// Others are clients that are struck, or whose links are, instead of the client at
	// Point. That client is left out if it is one of them.
	Others    []int             `json:"others,omitempty"`
	Direction testbed.Direction `json:"direction,omitempty"`
	// OneConn leaves the client's other connections to the node of Point alone: what the
	// client sends later over those overtakes what is held.
	OneConn bool          `json:"oneConn,omitempty"`
	Offset  time.Duration `json:"offset,omitempty"` // of a clock
	// Values says that clients read the clock that is set. Then keys without a life of
	// their own are struck too: their values may say until when they count.
	Values     bool               `json:"values,omitempty"`
	Durability testbed.Durability `json:"durability,omitempty"` // that the trial's nodes must have
	// Away is how long killed nodes stay away at least, even if For is shorter: the
	// operator's word (history.Claims.Away).
	Away time.Duration `json:"away,omitempty"`
	// Loss is how a failover loses the primary where nodes elect the next one.
	Loss Loss `json:"loss,omitempty"`
	// Quorum is how many nodes must carry a key for it to be somebody's lock.
	Quorum int `json:"quorum,omitempty"`

	// For is how long it lasts, with Until: at least.
	For time.Duration `json:"for,omitempty"`
	// Until ends it at the first such point after For; nil = it ends after For.
	Until *Trigger `json:"until,omitempty"`
	// Linger is how long it lasts beyond Until. The client at Until goes on meanwhile.
	Linger time.Duration `json:"linger,omitempty"`
	// Limit ends it if Until is not reached.
	Limit time.Duration `json:"limit,omitempty"`
}

// length is the longest that an action can be in force.
func (a Action) length() time.Duration {
	if a.Until != nil {
		return max(a.For, a.Limit+a.Linger, a.Away)
	}
	return max(a.For, a.Away)
}

// Who restricts the clients of an Until to those that stand in a relation to
// the struck one.
type Who = history.Who

// Relations to the struck client.
const (
	Anyone = history.Anyone
	Other  = history.Other // anyone but the struck client
	Same   = history.Same  // the struck client itself
)

// Trigger is a point in a protocol: the first of some clients to get there sets it off.
type Trigger history.Trigger

// point is the trigger's point for one client.
func (t Trigger) point(client int) testbed.Point {
	return testbed.Point{
		Client: client, Step: t.Step, Node: t.Node, N: t.N, When: t.When, Skip: t.Skip,
	}
}

// New makes the plan of the k-th trial (from 0) under these faults: variant k of
// each fault, counted round. It is a pure function of its arguments. The order
// of variants does not depend on the seed, only their details do. The error
// wraps ErrNotSupported if a fault has no way to strike in this world.
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
				return nil, Unsupported{Fault: name, Why: OneHeir, Beside: promoting}
			}
			promoting = name
		}
		if why, is := f.impossible(w); is {
			return nil, why
		}
		variants := f.variants(w, dice(seed, name, 0))
		if len(variants) == 0 {
			return nil, Unsupported{Fault: name, Why: NoPlanFits, Span: w.Duration}
		}
		if round := k / len(variants); round > 0 {
			variants = f.variants(w, dice(seed, name, round))
		}
		plan = plan.join(variants[k%len(variants)])
	}
	plan.wholeMicroseconds()
	return plan, nil
}

// of names the fault in the actions that name none.
func (p Plan) of(f Fault) {
	for i := range p {
		if p[i].Fault == "" {
			p[i].Fault = f.Name
		}
	}
}

// wholeMicroseconds rounds all times down. On virtual time the instants between two
// microseconds belong to the network.
func (p Plan) wholeMicroseconds() {
	for i := range p {
		for _, t := range []*time.Duration{&p[i].At, &p[i].Delay, &p[i].By, &p[i].Offset, &p[i].For, &p[i].Linger, &p[i].Limit} {
			*t = t.Truncate(time.Microsecond)
		}
	}
}

// dice is the source of randomness for a fault's details in one round through its variants.
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

// Durability is what the trial's nodes must keep over a restart, for
// testbed.Setup; "" if the plan does not care.
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

// Hits sums what the windows of these faults demonstrably hit, from a trial's history. No
// names, or the name of a mix, mean all faults. Hits of another fault, with which a plan
// prepared the ground, prove nothing about these.
func Hits(ops []history.Op, faults ...string) int {
	all := len(faults) == 0 || slices.ContainsFunc(faults, mixed)
	sum := 0
	for _, op := range ops {
		if op.Process == history.Nemesis && op.Type == history.Info && op.Window != nil &&
			(all || slices.Contains(faults, op.Window.Fault)) {
			sum += op.Window.Hits
		}
	}
	return sum
}

// mixed says whether the fault of that name is made of others.
func mixed(name string) bool {
	f, ok := ByName(name)
	return ok && f.Mix
}
