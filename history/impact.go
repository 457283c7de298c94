package history

import "time"

// Impact is how a fault struck and what it hit, as the gate, the network or the
// node saw it. What a fault does not count is 0.
type Impact struct {
	// At is where it struck.
	At Place `json:"at"`
	// From is when it was in force, and For for how long; a fault that is over at
	// once has neither.
	From time.Duration `json:"from,omitempty"`
	For  time.Duration `json:"for,omitempty"`
	// Until is whose coming where ended it; nil if time did.
	Until *Place `json:"until,omitempty"`

	Messages    int `json:"messages,omitempty"`    // dropped, lost or delayed, or waiting for a client that stood still
	Connections int `json:"connections,omitempty"` // that were reset
	Commands    int `json:"commands,omitempty"`    // that waited for a node that stood still
	Writes      int `json:"writes,omitempty"`      // acknowledged, and lost
	Scripts     int `json:"scripts,omitempty"`     // that a node forgot

	// Offset is by how much clocks really were off.
	Offset time.Duration `json:"offset,omitempty"`
	// Attempts are acquires that began while their client's clock was off; Holding
	// says that it held the lock when its clock was set.
	Attempts int  `json:"attempts,omitempty"`
	Holding  bool `json:"holding,omitempty"`
	// Shifted are keys whose lives a node's clock moved, and ShiftedBack those whose
	// lives were moved when it was set right.
	Shifted     int `json:"shifted,omitempty"`
	ShiftedBack int `json:"shiftedBack,omitempty"`
	// Read are keys without a life that were there when the clock of a node was set that
	// clients ask for the time: their values may say until when they count.
	Read int `json:"read,omitempty"`

	// Keys is what became of the keys that were at stake.
	Keys []KeyFate `json:"keys,omitempty"`
	// Handover is by which another node took a place or keys; nil if none did.
	Handover *Handover `json:"handover,omitempty"`
}

// Place is where in a client's protocol, and when, something happened.
type Place struct {
	Time   time.Duration `json:"time"`
	Client int           `json:"client"` // NoClient if it concerns none
	// Step is the step of the client's body ("acquire"); "" at an instant that the
	// plan names.
	Step string `json:"step,omitempty"`
	// Node, N and When are the command's: the N-th of the step on Node; N = 0 at the
	// step's beginning.
	Node string `json:"node,omitempty"`
	N    int    `json:"n,omitempty"`
	When When   `json:"when,omitempty"`
	// Command is the command's name, in capitals, and Key its key; "" if not known.
	Command string `json:"command,omitempty"`
	Key     Bytes  `json:"key,omitempty"`
}

// KeyFate is what became of one key on one node.
type KeyFate struct {
	Node string `json:"node"`
	Key  Bytes  `json:"key"`
	Fate Fate   `json:"fate"`
	// Spared: enough other nodes had the key, so that nothing was at stake.
	Spared bool `json:"spared,omitempty"`
}

// Fate is what became of a key.
type Fate string

// Fates of keys.
const (
	FateKept      Fate = "kept"
	FateLost      Fate = "lost"
	FateExpired   Fate = "expired"   // its life ended meanwhile
	FateOutlasted Fate = "outlasted" // its node stayed away for longer than its life
	FateRevived   Fate = "revived"   // it is there again, though it was gone before
	FateEvicted   Fate = "evicted"
	FateMoved     Fate = "moved"
)

// Handover is how the place of a node, or its keys, went to another.
type Handover struct {
	From string `json:"from"`
	To   string `json:"to"`
	// How a primary was lost; "" where keys moved.
	How PrimaryLoss `json:"how,omitempty"`
	// At is by when To had it, and Told by when everybody knew; 0 = not known.
	At   time.Duration `json:"at,omitempty"`
	Told time.Duration `json:"told,omitempty"`
}

// PrimaryLoss is how a primary was lost.
type PrimaryLoss string

// Losses of a primary.
const (
	PrimaryKilled    PrimaryLoss = "killed"
	PrimaryFrozen    PrimaryLoss = "frozen"    // it goes on when another has taken its place
	PrimaryCutOff    PrimaryLoss = "cut-off"   // nobody reaches it until then
	PrimaryUnplugged PrimaryLoss = "unplugged" // its network interface is gone until then
	PrimaryForced    PrimaryLoss = "forced"    // an operator had the replica take over
	PrimaryOutvoted  PrimaryLoss = "outvoted"  // other servers reach it no more, clients do until they hear of the vote
)
