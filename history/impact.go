package history

import "time"

// Impact is how a fault struck and what it hit, as the gate, the network or the node
// observed it. Counts that do not apply to a fault are 0.
type Impact struct {
	// At is the place where it struck.
	At Place `json:"at"`
	// From is when it began, and For its duration; 0 for an instantaneous fault.
	From time.Duration `json:"from,omitempty"`
	For  time.Duration `json:"for,omitempty"`
	// Until is the place whose reaching ended it; nil if it ended by time.
	Until *Place `json:"until,omitempty"`

	Messages    int `json:"messages,omitempty"`    // dropped, lost or delayed, or waiting for a paused client
	Connections int `json:"connections,omitempty"` // that were reset
	Commands    int `json:"commands,omitempty"`    // that waited for a paused node
	Writes      int `json:"writes,omitempty"`      // acknowledged, and lost
	Scripts     int `json:"scripts,omitempty"`     // that a node forgot

	// Offset is the actual offset of the clocks.
	Offset time.Duration `json:"offset,omitempty"`
	// Attempts are acquires that began while their client's clock was off; Holding says
	// that the client held the lock when its clock was set.
	Attempts int  `json:"attempts,omitempty"`
	Holding  bool `json:"holding,omitempty"`
	// Shifted are keys whose expiry a node's clock moved; ShiftedBack are those whose
	// expiry moved when the clock was corrected.
	Shifted     int `json:"shifted,omitempty"`
	ShiftedBack int `json:"shiftedBack,omitempty"`
	// Read are keys without an expiry that existed when the clock was set of a node
	// that clients ask for the time: their values may hold deadlines.
	Read int `json:"read,omitempty"`

	// Keys is the fate of the keys at stake.
	Keys []KeyFate `json:"keys,omitempty"`
	// Handover says how another node took over a place or keys; nil if none did.
	Handover *Handover `json:"handover,omitempty"`
}

// Place is the place in a client's protocol, and the time, of an event.
type Place struct {
	Time   time.Duration `json:"time"`
	Client int           `json:"client"` // NoClient if it concerns none
	// Step is the step of the client's body ("acquire"); "" if the plan gives a time
	// instead.
	Step string `json:"step,omitempty"`
	// Node, N and When locate the command: the N-th of the step on Node; N = 0 is the
	// step's beginning.
	Node string `json:"node,omitempty"`
	N    int    `json:"n,omitempty"`
	When When   `json:"when,omitempty"`
	// Command is the command's name, in capitals, and Key its key; "" if not known.
	Command string `json:"command,omitempty"`
	Key     Bytes  `json:"key,omitempty"`
}

// KeyFate is the fate of one key on one node.
type KeyFate struct {
	Node string `json:"node"`
	Key  Bytes  `json:"key"`
	Fate Fate   `json:"fate"`
	// Spared: enough other nodes had the key, so nothing was at stake.
	Spared bool `json:"spared,omitempty"`
}

// Fate is what happened to a key.
type Fate string

// Fates of keys.
const (
	FateKept      Fate = "kept"
	FateLost      Fate = "lost"
	FateExpired   Fate = "expired"   // its life ended meanwhile
	FateOutlasted Fate = "outlasted" // its node stayed away for longer than its life
	FateRevived   Fate = "revived"   // it was gone and exists again
	FateEvicted   Fate = "evicted"
	FateMoved     Fate = "moved"
)

// Handover is how another node took over a node's place or its keys.
type Handover struct {
	From string `json:"from"`
	To   string `json:"to"`
	// How a primary was lost; "" where keys moved.
	How PrimaryLoss `json:"how,omitempty"`
	// At is the latest time by which To had it, and Told that by which everybody knew;
	// 0 = unknown.
	At   time.Duration `json:"at,omitempty"`
	Told time.Duration `json:"told,omitempty"`
}

// PrimaryLoss is how a primary was lost.
type PrimaryLoss string

// Losses of a primary.
const (
	PrimaryKilled    PrimaryLoss = "killed"
	PrimaryFrozen    PrimaryLoss = "frozen"    // it goes on after another has taken its place
	PrimaryCutOff    PrimaryLoss = "cut-off"   // unreachable until then
	PrimaryUnplugged PrimaryLoss = "unplugged" // its network interface is gone until then
	PrimaryForced    PrimaryLoss = "forced"    // an operator had the replica take over
	PrimaryOutvoted  PrimaryLoss = "outvoted"  // other servers lost contact to it; clients reach it until they hear of the vote
)
