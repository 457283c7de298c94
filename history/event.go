package history

import "slices"

// EventKind describes all events of the nemesis with the same Op.F.
type EventKind struct {
	F  string
	Of Subject
	// Injected: a fault caused the event. The harness itself noticed or made all other events.
	Injected bool
	// Leaves: Op.Client never releases the locks that it holds.
	Leaves bool
	// HasOffset: Op.Offset belongs to the event. An Offset of 0 sets a clock right.
	HasOffset bool
	// Keys is the event's effect on the keys of nodes.
	Keys KeyEffect
	// Changes are the values of KeyChange.By for the changes that the event causes on Op.Node.
	Changes []ChangedBy
	// EndedBy are the events that end the effect of this event; see Op.Ends. If there are none, the
	// effect does not end.
	EndedBy []string
	// Breakdown: with this event, the code under test ended the trial.
	Breakdown bool
}

// Subject is what an event concerns: a client, a node or the whole trial.
type Subject int

// What an event concerns. OfTrial: the trial as a whole.
const (
	OfTrial  Subject = iota
	OfClient         // the event concerns Op.Client
	OfNode           // the event concerns Op.Node
)

// KeyEffect is what an event does to the keys of nodes.
type KeyEffect int

// Effects of events on keys. From KeysShifted on, a key may be gone or expire early: see MayEnd.
const (
	KeysKept     KeyEffect = iota
	KeysMoved              // Op.Keys are on another node, with their values and TTLs
	KeysDoubted            // other nodes take Op.Node for dead; a later event replaces its keys
	KeysShifted            // the keys of Op.Node expire earlier or later
	KeysEvicted            // Op.Node lost Op.Keys
	KeysHidden             // no client can reach the keys of Op.Node
	KeysRestored           // Op.Node has only the data that it had persisted
	KeysReplaced           // Op.Node replaces a primary, and may lack some of that primary's keys
)

// MayEnd reports whether a key may be gone after the event, or expire early.
func (e KeyEffect) MayEnd() bool { return e >= KeysShifted }

var eventKinds = []EventKind{
	{F: FCrash, Of: OfClient, Injected: true, Leaves: true},
	{F: FHung, Of: OfClient, Injected: true, Leaves: true},
	{F: FClock, Of: OfClient, Injected: true, HasOffset: true, EndedBy: []string{FClock}},
	{F: FNodeDown, Of: OfNode, Injected: true, Keys: KeysHidden, Changes: []ChangedBy{ByRestart}, EndedBy: []string{FNodeUp, FPromote}},
	{F: FNodeUp, Of: OfNode, Injected: true, Keys: KeysRestored, Changes: []ChangedBy{ByReplication}},
	{F: FPromote, Of: OfNode, Injected: true, Keys: KeysReplaced, Changes: []ChangedBy{ByPromotion, ByReplication}},
	{F: FNodeClock, Of: OfNode, Injected: true, HasOffset: true, Keys: KeysShifted, EndedBy: []string{FNodeClock}},
	{F: FEvict, Of: OfNode, Injected: true, Keys: KeysEvicted, Changes: []ChangedBy{ByEviction}},
	{F: FSplit, Of: OfNode, Injected: true, Keys: KeysReplaced, Changes: []ChangedBy{ByPromotion}},
	{F: FMigrate, Of: OfNode, Injected: true, Keys: KeysMoved},
	{F: FHealed},
	{F: FKeys, Of: OfNode},
	{F: FUnseen, Of: OfNode},
	{F: FStall, HasOffset: true},
	{F: FElection, Of: OfNode, Keys: KeysDoubted},
	{F: FDeadlock, Breakdown: true},
	{F: FPanic, Breakdown: true},
	{F: FRunaway, Breakdown: true},
}

// EventKinds lists all kinds of events.
func EventKinds() []EventKind { return slices.Clone(eventKinds) }

// operations are the values of Op.F in entries of clients.
var operations = []string{FAcquire, FRelease, FExtend, FRead, FWrite, FLost}

// IsOperation reports whether f is a value of Op.F in entries of clients.
func IsOperation(f string) bool { return slices.Contains(operations, f) }

// EventOf returns the kind of the events whose Op.F is f; false if f names no event.
func EventOf(f string) (EventKind, bool) {
	i := slices.IndexFunc(eventKinds, func(k EventKind) bool { return k.F == f })
	if i < 0 {
		return EventKind{}, false
	}
	return eventKinds[i], true
}

// Event reports whether the entry is the event f of the nemesis. Entries of a window are
// not events.
func (op Op) Event(f string) bool { return op.Process == Nemesis && op.Window == nil && op.F == f }

// EventKind returns the kind of event that the entry is; the zero EventKind if it is none.
func (op Op) EventKind() EventKind {
	if op.Process != Nemesis || op.Window != nil {
		return EventKind{}
	}
	k, _ := EventOf(op.F)
	return k
}

// Ends reports whether the event ends the effect of an earlier event (EventKind.EndedBy). Both must
// concern the same client or the same node. The exception is FPromote: it ends the FNodeDown of the node
// that it replaces (Op.From), or every FNodeDown if it names none, because there is one primary.
func (op Op) Ends(earlier Op) bool {
	kind := earlier.EventKind()
	if !slices.Contains(kind.EndedBy, op.EventKind().F) {
		return false
	}
	if op.F == FPromote {
		return op.From == "" || op.From == earlier.Node
	}
	return kind.Of == OfClient && op.Client == earlier.Client || kind.Of == OfNode && op.Node == earlier.Node
}
