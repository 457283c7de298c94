// Package history records what happened: what clients and the nemesis did (operations),
// what went over the wire (commands), and what a recipe claims (claims); and it pairs,
// stores and reads them back.
//
// The vocabulary and the JSON keys are Jepsen's: an operation is an invocation that is
// completed by ok, fail or info.
package history

import (
	"encoding/json"
	"fmt"
	"time"
)

// Process identifies one logical thread of operations. It has at most one open
// operation. After an info completion its client goes on as a new process,
// while the owner, Op.Client, stays the same.
type Process int

// Nemesis is the process that injects faults. It is written "nemesis" in JSON,
// as in Jepsen's histories.
const Nemesis Process = -1

// MarshalJSON writes the number, or "nemesis".
func (p Process) MarshalJSON() ([]byte, error) {
	if p == Nemesis {
		return []byte(`"nemesis"`), nil
	}
	return json.Marshal(int(p))
}

// UnmarshalJSON reads a non-negative number, or "nemesis".
func (p *Process) UnmarshalJSON(b []byte) error {
	if string(b) == `"nemesis"` {
		*p = Nemesis
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf(`process is neither a number nor "nemesis": %s`, b)
	}
	if n < 0 {
		return fmt.Errorf("process %d is negative", n)
	}
	*p = Process(n)
	return nil
}

// Type says which part of an operation an entry is.
type Type string

// The four types of Jepsen's histories.
const (
	Invoke Type = "invoke" // about to happen; read before anything is sent
	OK     Type = "ok"     // it happened
	Fail   Type = "fail"   // it certainly did not happen
	Info   Type = "info"   // unknown; for the nemesis also: an event
)

// What operations do. The nemesis uses the name of its fault as F of a window
// (invoke opens it, info closes it) and the event names below.
const (
	FAcquire = "acquire" // take the lock
	FRelease = "release" // give it back; fail: told that it was not held
	FExtend  = "extend"  // prolong the lease
	FRead    = "read"    // read the guarded resource
	FWrite   = "write"   // write the guarded resource
	FLost    = "lost"    // a client event (info): the holder was told, or saw, that its lease ended

	FCrash     = "crash"      // nemesis event: Op.Client stops for ever
	FClock     = "clock"      // nemesis event: Op.Client's wall clock is off by Op.Offset from now on
	FNodeDown  = "node-down"  // nemesis event: Op.Node was killed
	FNodeUp    = "node-up"    // nemesis event: Op.Node is back; Op.Lost says what it had not kept
	FPromote   = "promote"    // nemesis event: Op.Node is primary from now on
	FNodeClock = "node-clock" // nemesis event: Op.Node's wall clock is off by Op.Offset from now on
	FEvict     = "evict"      // nemesis event: Op.Node evicted Op.Keys under memory pressure
	FSplit     = "split"      // nemesis event: Op.Client is served by Op.Node from now on, while others stay with the old primary; FPromote of that node ends it
	FMigrate   = "migrate"    // nemesis event: Op.Keys are on Op.Node from now on, and not on Op.From any more: their slots move
	FHealed    = "healed"     // nemesis event: the last fault is healed; the liveness phase starts
	FKeys      = "keys"       // nemesis event: post-mortem of Op.Node in Op.Keys
	FUnseen    = "unseen"     // nemesis event: what Op.Node's keys are cannot be seen from now on; Op.Error says why
	FStall     = "stall"      // nemesis event: the harness itself was not scheduled for Op.Offset

	// FElection is a nemesis event: another node is elected in the place of Op.Node,
	// which was taken for dead though no fault had struck it. The machine starved a
	// healthy node; no lock is to blame for what that loses.
	FElection = "unasked-election"

	// How the code under test can end a trial by its own conduct: nemesis events
	// with Op.Error, the last entry of their history but for what teardown adds.
	FDeadlock = "deadlock" // everything waits, and nothing will ever come
	FPanic    = "panic"    // it panicked
	FRunaway  = "runaway"  // it did not come to an end: too many commands, or too much time
)

// Mode is how a read-write lock is taken; empty for every other lock.
type Mode string

// The modes of a read-write lock.
const (
	Read  Mode = "read"
	Write Mode = "write"
)

// NoClient is Op.Client of an entry that concerns no client.
const NoClient = -1

// Op is one entry of a history: an invocation, its completion, or an event of
// the nemesis.
type Op struct {
	// Index is the entry's place in the history, from 0.
	Index int `json:"index"`
	// Time is nanoseconds since the trial's start on the harness's monotonic
	// clock, read inside the recorder's lock: it never decreases with Index.
	Time    time.Duration `json:"time"`
	Process Process       `json:"process"`
	// Client is the owner: the client process that did this, or that a nemesis event
	// concerns; NoClient if none.
	Client int    `json:"client"`
	Type   Type   `json:"type"`
	F      string `json:"f"`
	// Lock is the name of the lock; the resource it guards has the same name.
	Lock string `json:"lock,omitempty"`
	Mode Mode   `json:"mode,omitempty"`
	// Lease is what an acquire returned (on info: with the token that was sent), or the
	// lease under which a release, extend, read or write was made.
	Lease *Lease `json:"lease,omitempty"`
	// Value is the guarded resource's state that was read or written: one
	// number for a mutex, two that must be equal for a read-write lock.
	Value []int64 `json:"value,omitempty"`
	// Seq orders reads and writes of one resource: the resource's own counter,
	// from 1, taken under its own mutex. 0 elsewhere.
	Seq int64 `json:"seq,omitempty"`
	// Error is the error text, or the nemesis's remark about the event.
	Error string `json:"error,omitempty"`
	// Reason is machine-readable detail of a fail or info completion.
	Reason Reason `json:"reason,omitempty"`
	// Node is the Redis node that a nemesis event concerns, as in Command.Node.
	Node string `json:"node,omitempty"`
	// From is the node whose place, or whose keys, Op.Node gets, if it is not the only
	// primary.
	From string `json:"from,omitempty"`
	// Offset is by how much a clock is ahead (behind if negative), or how long a stall
	// lasted.
	Offset time.Duration `json:"offset,omitempty"`
	// Lost is what a restarted node has lost.
	Lost *Lost `json:"lost,omitempty"`
	// Window is what the nemesis is about to do (on invoke) and what it hit (on info).
	Window *Window `json:"window,omitempty"`
	// Keys is what a post-mortem found on Node, or what an eviction removed from it.
	Keys []KeyState `json:"keys,omitempty"`
}

// Reason says why an operation did not end with ok.
type Reason string

// Reasons of completions.
const (
	Busy    Reason = "busy"     // fail of an acquire: somebody else holds it
	Refused Reason = "refused"  // fail: the recipe refused without asking Redis
	NotHeld Reason = "not-held" // fail of a release or extension: certainly not ours any more
	Stale   Reason = "stale"    // fail of a read or write: the resource had seen a newer fencing token
	Unknown Reason = "unknown"  // info: an error or a timeout; it may have happened
)

// Lease is what a client knows of its hold, as recorded.
type Lease struct {
	Token string `json:"token,omitempty"`
	Fence int64  `json:"fence,omitempty"` // fencing token, 0 = none
	// Deadline is when the holder's claim to exclusion ends: an instant on the
	// *client's own* wall clock, in nanoseconds since the trial's start as an unskewed
	// wall clock would show it; 0 = at release.
	Deadline time.Duration `json:"deadline,omitempty"`
}

// KeyState is one key found by a post-mortem.
type KeyState struct {
	Key  string `json:"key"`
	Type string `json:"type"` // as Redis TYPE says
	// TTL is the remaining life by the node's clock; negative: it never expires.
	TTL   time.Duration `json:"ttl"`
	Value Bytes         `json:"value,omitempty"` // a string's value, or a hash as "field=value ..." sorted by field
}
