package nemesis

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// ErrNotSupported is wrapped by every Unsupported, the error of a fault that cannot be
// tried at all on a testbed, topology or recipe.
var ErrNotSupported = errors.New("not supported")

// Unsupported is the reason why a fault cannot be tried. It is an error, and is stored as
// JSON.
type Unsupported struct {
	Fault string `json:"fault"`
	Why   Want   `json:"why"`
	// Nodes is the topology that the recipe needs. Topology is one that the testbed cannot
	// set up, or in which the fault has no target.
	Nodes    locks.Topology     `json:"nodes,omitempty"`
	Topology testbed.Topology   `json:"topology,omitempty"`
	Needs    testbed.Capability `json:"needs,omitempty"`
	Beside   string             `json:"beside,omitempty"` // another fault
	// Span is the duration of a trial or a restart, Life the life of the keys.
	Span time.Duration `json:"span,omitempty"`
	Life time.Duration `json:"life,omitempty"`
	// Hint is the testbed's own advice on how to make the fault possible.
	Hint string `json:"hint,omitempty"`
}

// Want is the kind of thing that a fault lacks. The table wants has its sentence.
type Want string

// Reasons why a fault cannot strike.
const (
	WrongNodes       Want = "wrong-nodes" // the fault cannot strike the recipe's nodes
	NoTopology       Want = "no-topology"
	NoCapability     Want = "no-capability"
	OneHeir          Want = "one-heir" // another fault promotes the same replica
	NoPlanFits       Want = "no-plan-fits"
	NothingDisturbed Want = "nothing-disturbed"
	NoReplica        Want = "no-replica"
	NoSlots          Want = "no-slots"
	NoScripts        Want = "no-scripts"
	NoLives          Want = "no-lives"
	TooFewClients    Want = "too-few-clients"
	ExpiredBefore    Want = "expired-before" // keys expire before a node is back
)

// wants has the sentence for each Want.
var wants = map[Want]func(Unsupported) string{
	WrongNodes:       func(u Unsupported) string { return fmt.Sprintf("it cannot strike %s nodes", u.Nodes) },
	NoTopology:       func(u Unsupported) string { return fmt.Sprintf("the testbed has no %s topology", u.Topology) },
	NoCapability:     func(u Unsupported) string { return fmt.Sprintf("the testbed cannot disturb %s", u.Needs) },
	OneHeir:          func(u Unsupported) string { return fmt.Sprintf("it and %s promote the same replica", u.Beside) },
	NoPlanFits:       func(u Unsupported) string { return fmt.Sprintf("no plan fits a trial of %v", u.Span) },
	NothingDisturbed: func(Unsupported) string { return "the testbed can disturb nothing" },
	NoReplica:        func(u Unsupported) string { return fmt.Sprintf("a %s topology has no replica", u.Topology) },
	NoSlots:          func(u Unsupported) string { return fmt.Sprintf("a %s topology has no slots", u.Topology) },
	NoScripts:        func(Unsupported) string { return "it ran no scripts where nothing was disturbed" },
	NoLives:          func(Unsupported) string { return "no key of the recipe ever expires, and it asks no node for the time" },
	TooFewClients:    func(Unsupported) string { return "one client cannot be on two sides" },
	ExpiredBefore: func(u Unsupported) string {
		return fmt.Sprintf("a master of a cluster serves %v after its restart at the earliest, when what it had for %v has expired", u.Span, u.Life)
	},
}

// Words returns a sentence about what the fault lacks, without the fault's name.
func (u Unsupported) Words() string {
	said := string(u.Why)
	if words, ok := wants[u.Why]; ok {
		said = words(u)
	}
	if u.Hint != "" {
		said += ": " + u.Hint
	}
	return said
}

// Error implements error.
func (u Unsupported) Error() string {
	return fmt.Sprintf("%s: %v: %s", u.Fault, ErrNotSupported, u.Words())
}

// Unwrap returns ErrNotSupported.
func (Unsupported) Unwrap() error { return ErrNotSupported }

// impossible returns why the fault has nothing to strike in this world; is is false if it
// can strike.
func (f Fault) impossible(w World) (u Unsupported, is bool) {
	if f.Impossible == nil {
		return u, false
	}
	u = f.Impossible(w)
	u.Fault = f.Name
	return u, u.Why != ""
}
