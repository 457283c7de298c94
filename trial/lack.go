package trial

import (
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// Lack says why a cell cannot be tried, as data; Words and Sentence turn it into text.
type Lack struct {
	What LackOf `json:"what"`
	// Fault is what the fault needs, if What is LackForFault.
	Fault *nemesis.Unsupported `json:"fault,omitempty"`
	// Needs is the topology that the cell needs, and Chosen the chosen one.
	Needs  testbed.Topology `json:"needs,omitempty"`
	Chosen testbed.Topology `json:"chosen,omitempty"`
	Text   string           `json:"text,omitempty"` // the reason, if What is LackAsTold
}

// LackOf is a kind of lack.
type LackOf string

// Kinds of lack.
const (
	LackForFault   LackOf = "fault"
	LackOfTopology LackOf = "topology"
	LackOfLinks    LackOf = "links"     // the clients share their links
	LackOfWorkload LackOf = "workload"  // no chosen workload suits the recipe
	LackOfNamed    LackOf = "schedules" // the cell has no named schedules, and no trials are drawn
	LackAsTold     LackOf = "told"      // another reason: Lack.Text
)

// NewLack converts an error that wraps nemesis.ErrNotSupported.
func NewLack(err error) *Lack {
	var u nemesis.Unsupported
	if errors.As(err, &u) {
		return &Lack{What: LackForFault, Fault: &u}
	}
	return &Lack{What: LackAsTold, Text: err.Error()}
}

// Words returns the reason as a sentence that does not name the fault; "" for nil.
func (l *Lack) Words() string {
	switch {
	case l == nil:
		return ""
	case l.What == LackForFault && l.Fault != nil:
		return l.Fault.Words()
	case l.What == LackOfTopology:
		return fmt.Sprintf("it needs the topology %s, not %s", l.Needs, l.Chosen)
	case l.What == LackOfLinks:
		return "the clients share their links, and cannot be moved one by one"
	case l.What == LackOfWorkload:
		return "none of the chosen workloads suits the recipe"
	case l.What == LackOfNamed:
		return "it has no named schedules, and no trials are drawn"
	}
	return l.Text
}

// Sentence returns the reason as a sentence. If something that the fault needs is missing, the
// sentence names the fault.
func (l *Lack) Sentence() string {
	if l != nil && l.What == LackForFault && l.Fault != nil {
		return l.Fault.Error()
	}
	return l.Words()
}
