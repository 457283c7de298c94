package history

import "time"

// Impact is how a fault struck and what it hit, as the gate, the network or the node
// observed it. Counts that do not apply to a fault are 0.
type Impact struct {
	// At is the moment at which the fault struck.
	At Moment `json:"at"`
	// From is when the fault began, and For is its duration. Both are 0 for an instantaneous fault.
	From time.Duration `json:"from,omitempty"`
	For  time.Duration `json:"for,omitempty"`
	// Until is the moment at which a client reached the point that ended the fault; nil if the
	// fault ended by time.
	Until *Moment `json:"until,omitempty"`

	Messages    int `json:"messages,omitempty"`    // messages dropped, lost or delayed, or waiting for a paused client
	Connections int `json:"connections,omitempty"` // connections reset
	Commands    int `json:"commands,omitempty"`    // commands that waited for a paused node
	Writes      int `json:"writes,omitempty"`      // acknowledged writes that were lost
	Scripts     int `json:"scripts,omitempty"`     // scripts that a node forgot

	// Offset is the actual offset of the clocks.
	Offset time.Duration `json:"offset,omitempty"`
	// Attempts counts acquires that began while their client's clock was off; Holding
	// reports that the client believed that it held the lock when its clock was set.
	Attempts int  `json:"attempts,omitempty"`
	Holding  bool `json:"holding,omitempty"`
	// Shifted counts the keys whose expiry moved when a node's clock was set. ShiftedBack counts
	// the keys whose expiry moved when the clock was corrected.
	Shifted     int `json:"shifted,omitempty"`
	ShiftedBack int `json:"shiftedBack,omitempty"`
	// Read counts the keys that had no expiry when a node's clock was set. It is 0 unless clients
	// read that clock (TIME): then the keys' values may be deadlines.
	Read int `json:"read,omitempty"`

	// Keys are the fates of the keys at stake.
	Keys []KeyFate `json:"keys,omitempty"`
	// Handover says how another node took over a place or keys; nil if none did.
	Handover *Handover `json:"handover,omitempty"`
}

// Moment is the time of an event and the point of a client's protocol at which the event happened.
type Moment struct {
	Time   time.Duration `json:"time"`
	Client int           `json:"client"` // NoClient if the event concerns none
	// Step is the step of the client's body ("acquire"); "" if the plan gives a time
	// instead.
	Step string `json:"step,omitempty"`
	// Node, N and When locate the command: it is the N-th command of the step on Node. N = 0 is
	// the step's beginning, without a command.
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

// What can happen to a key.
const (
	FateKept      Fate = "kept"
	FateLost      Fate = "lost"
	FateExpired   Fate = "expired"   // the key expired during the fault
	FateOutlasted Fate = "outlasted" // the node was down for longer than the key's life
	FateRevived   Fate = "revived"   // the key had been gone, and exists again
	FateEvicted   Fate = "evicted"
	FateMoved     Fate = "moved"
)

// Handover is how another node took over a node's place or its keys.
type Handover struct {
	From string `json:"from"`
	To   string `json:"to"`
	// How says how the primary was lost; "" if only keys moved.
	How PrimaryLoss `json:"how,omitempty"`
	// At is an upper bound of the time at which To took over. Told is an upper bound of the time at
	// which all clients knew of it. 0 = unknown.
	At   time.Duration `json:"at,omitempty"`
	Told time.Duration `json:"told,omitempty"`
}

// PrimaryLoss is how a primary was lost.
type PrimaryLoss string

// The ways in which a primary loses its place.
const (
	PrimaryKilled   PrimaryLoss = "killed"
	PrimaryFrozen   PrimaryLoss = "frozen"   // paused; resumes after another node took its place
	PrimaryCutOff   PrimaryLoss = "cut-off"  // unreachable until another node took its place
	PrimaryForced   PrimaryLoss = "forced"   // an operator forced the replica to take over
	PrimaryOutvoted PrimaryLoss = "outvoted" // other servers lost contact to it; clients reach it until they learn of the vote
)
