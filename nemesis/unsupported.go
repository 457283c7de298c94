package nemesis

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// ErrNotSupported is wrapped by every *Unsupported.
var ErrNotSupported = errors.New("not supported")

// Unsupported is the reason why a fault, or a cell of a campaign, cannot be tried at all on a testbed,
// topology or recipe. It is an error, and is stored as JSON.
type Unsupported struct {
	// Fault is the fault that lacks something; "" if the fault itself lacks nothing.
	Fault string `json:"fault,omitempty"`
	Why   Want   `json:"why"`
	// Nodes is the topology that the recipe needs. Topology is a topology that the testbed cannot
	// set up, in which the fault has no target, or that the cell needs instead of Chosen.
	Nodes    locks.Topology     `json:"nodes,omitempty"`
	Topology testbed.Topology   `json:"topology,omitempty"`
	Chosen   testbed.Topology   `json:"chosen,omitempty"`
	Needs    testbed.Capability `json:"needs,omitempty"`  // the missing capability
	Beside   string             `json:"beside,omitempty"` // another fault, which promotes the same replica
	// Span is the duration of a trial or a restart, Life the life of the keys.
	Span time.Duration `json:"span,omitempty"`
	Life time.Duration `json:"life,omitempty"`
	// Hint is the testbed's own advice on how to make the fault possible.
	Hint string `json:"hint,omitempty"`
}

// Want is the kind of thing that is missing. The table wants holds a sentence for each.
type Want string

// Reasons why a fault cannot strike.
const (
	WrongNodes       Want = "wrong-nodes"       // the fault cannot strike the recipe's nodes
	NoTopology       Want = "no-topology"       // the testbed cannot set up the topology
	NoCapability     Want = "no-capability"     // the testbed lacks a capability that the fault needs
	OneHeir          Want = "one-heir"          // another fault promotes the same replica
	NoPlanFits       Want = "no-plan-fits"      // no plan of the fault fits the trial, which may be too short
	NothingDisturbed Want = "nothing-disturbed" // chaos has no other fault to mix
	NoReplica        Want = "no-replica"        // the topology has no replica to promote
	NoSlots          Want = "no-slots"          // the topology is no Redis Cluster
	NoScripts        Want = "no-scripts"        // the probe trial ran no scripts
	NoLives          Want = "no-lives"          // no key expires, and no client asks a node for the time
	TooFewClients    Want = "too-few-clients"   // two primaries need two clients
	ExpiredBefore    Want = "expired-before"    // keys expire before a restarted node serves again
)

// Reasons why a cell cannot be tried although its fault lacks nothing.
const (
	OtherTopology Want = "other-topology" // the cell needs another topology than the chosen one
	SharedLinks   Want = "shared-links"   // the clients share their links
	NoWorkload    Want = "no-workload"    // no chosen workload suits the recipe
	NoSchedules   Want = "no-schedules"   // the cell has no named schedules, and no trials are drawn
)

var wants = map[Want]func(*Unsupported) string{
	WrongNodes:       func(u *Unsupported) string { return fmt.Sprintf("it cannot strike %s nodes", u.Nodes) },
	NoTopology:       func(u *Unsupported) string { return fmt.Sprintf("the testbed has no %s topology", u.Topology) },
	NoCapability:     func(u *Unsupported) string { return fmt.Sprintf("the testbed cannot disturb %s", u.Needs) },
	OneHeir:          func(u *Unsupported) string { return fmt.Sprintf("it and %s promote the same replica", u.Beside) },
	NoPlanFits:       func(u *Unsupported) string { return fmt.Sprintf("no plan fits a trial of %v", u.Span) },
	NothingDisturbed: func(*Unsupported) string { return "the testbed can disturb nothing" },
	NoReplica:        func(u *Unsupported) string { return fmt.Sprintf("a %s topology has no replica", u.Topology) },
	NoSlots:          func(u *Unsupported) string { return fmt.Sprintf("a %s topology has no slots", u.Topology) },
	NoScripts:        func(*Unsupported) string { return "the recipe ran no scripts in the trial without faults" },
	NoLives: func(*Unsupported) string {
		return "no key of the recipe ever expires, and it asks no node for the time"
	},
	TooFewClients: func(*Unsupported) string { return "one client cannot be on two sides" },
	ExpiredBefore: func(u *Unsupported) string {
		return fmt.Sprintf("a restarted master of a cluster serves again after %v at the earliest; the recipe's keys live for %v and have expired by then", u.Span, u.Life)
	},
	OtherTopology: func(u *Unsupported) string {
		return fmt.Sprintf("it needs the topology %s, not %s", u.Topology, u.Chosen)
	},
	SharedLinks: func(*Unsupported) string { return "the clients share their links, and cannot be moved one by one" },
	NoWorkload:  func(*Unsupported) string { return "none of the chosen workloads suits the recipe" },
	NoSchedules: func(*Unsupported) string { return "it has no named schedules, and no trials are drawn" },
}

// Words returns a sentence about what is missing, without the fault's name; "" for nil.
func (u *Unsupported) Words() string {
	if u == nil {
		return ""
	}
	said := string(u.Why)
	if words, ok := wants[u.Why]; ok {
		said = words(u)
	}
	if u.Hint != "" {
		said += ": " + u.Hint
	}
	return said
}

// Error implements error: Words and, if the fault lacks something, its name.
func (u *Unsupported) Error() string {
	if u.Fault == "" {
		return u.Words()
	}
	return fmt.Sprintf("%s: %v: %s", u.Fault, ErrNotSupported, u.Words())
}

// Unwrap returns ErrNotSupported.
func (*Unsupported) Unwrap() error { return ErrNotSupported }

// impossible returns why the fault has nothing to strike in this world; nil if the fault can strike.
func (f Fault) impossible(w World) *Unsupported {
	if f.Impossible == nil {
		return nil
	}
	u := f.Impossible(w)
	if u != nil {
		u.Fault = f.Name
	}
	return u
}
