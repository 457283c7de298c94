package history

import (
	"encoding/json"
	"fmt"
	"time"
)

// Process identifies one logical thread of operations. It has at most one open operation. After an
// info completion, the client goes on as a new process, while the owner, Op.Client, stays the same.
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
		return fmt.Errorf("process is neither a number nor \"nemesis\": %s", b)
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
	Invoke Type = "invoke" // the operation is about to begin; Op.Time is read before anything is sent
	OK     Type = "ok"     // the operation happened
	Fail   Type = "fail"   // the operation certainly did not happen
	Info   Type = "info"   // the outcome is unknown; also the type of events and of the end of a window
)

// Values of Op.F in entries of clients. In entries of a window (invoke opens it, info closes
// it), F is the name of the fault instead.
const (
	FAcquire = "acquire" // take the lock
	FRelease = "release" // release the lock; fail: the client was told that it did not hold the lock
	FExtend  = "extend"  // prolong the lease
	FRead    = "read"    // read the guarded resource
	FWrite   = "write"   // write the guarded resource
	FLost    = "lost"    // a client event (info), perhaps while an operation is open: the holder was told, or saw, that its lease had ended
)

// Values of Op.F in events of the nemesis; see EventKind.
const (
	FCrash     = "crash"      // Op.Client stops for ever
	FHung      = "hung"       // Op.Client never comes back from its work; its process lives on
	FClock     = "clock"      // Op.Client's wall clock is off by Op.Offset from now on
	FNodeDown  = "node-down"  // Op.Node was killed
	FNodeUp    = "node-up"    // Op.Node is back; Op.Lost says what it lost
	FPromote   = "promote"    // Op.Node is primary from now on
	FNodeClock = "node-clock" // Op.Node's wall clock is off by Op.Offset from now on
	FEvict     = "evict"      // Op.Node evicted Op.Keys under memory pressure
	FSplit     = "split"      // from now on Op.Node serves Op.Client, and the old primary the other clients; FPromote of Op.Node ends the split
	FMigrate   = "migrate"    // Op.Keys moved with their slots from Op.From to Op.Node
	FHealed    = "healed"     // the last fault is healed; the liveness phase starts
	FKeys      = "keys"       // a post-mortem found Op.Keys on Op.Node
	FUnseen    = "unseen"     // Op.Node's keys cannot be observed from now on; Op.Error says why
	FStall     = "stall"      // the harness itself was not scheduled for Op.Offset

	// FElection: another node was elected in place of Op.Node, which seemed dead although no fault
	// had struck it: the machine had starved Op.Node. No lock is to blame for the lost data.
	FElection = "unasked-election"

	// The code under test itself ended the trial; Op.Error has its error text. This is the history's
	// last entry. Op.Client of FPanic is the client that panicked, if known.
	FDeadlock = "deadlock" // every goroutine waits, for ever
	FPanic    = "panic"    // the code under test panicked
	FRunaway  = "runaway"  // the code under test did not end: too many commands, or too much time
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
	// Client is the owner: the client process that acted, or that a nemesis event
	// concerns; NoClient if none.
	Client int    `json:"client"`
	Type   Type   `json:"type"`
	F      string `json:"f"`
	// Lock is the name of the lock; the resource it guards has the same name.
	Lock string `json:"lock,omitempty"`
	Mode Mode   `json:"mode,omitempty"`
	// Lease is the lease that an acquire returned; on info, it has the token that was sent. In
	// other operations, it is the lease under which the client released, extended, read or wrote.
	Lease *Lease `json:"lease,omitempty"`
	// Value holds the registers of the guarded resource as read or written: for example one
	// counter, or two numbers under a read-write lock, which must be equal.
	Value []int64 `json:"value,omitempty"`
	// Seq orders the reads and writes of one resource. It is the resource's own counter, from 1,
	// taken under the resource's mutex; 0 elsewhere.
	Seq int64 `json:"seq,omitempty"`
	// Error is the error text, or the nemesis's remark about the event.
	Error string `json:"error,omitempty"`
	// Reason is machine-readable detail of a fail or info completion.
	Reason Reason `json:"reason,omitempty"`
	// Node is the Redis node that a nemesis event concerns, as in Command.Node.
	Node string `json:"node,omitempty"`
	// From is the node that Node replaces, or that Node gets keys from; "" if there is only one
	// primary.
	From string `json:"from,omitempty"`
	// Offset is a clock's lead (a lag if negative), or the duration of a stall.
	Offset time.Duration `json:"offset,omitempty"`
	// Lost is what a restarted node has lost.
	Lost *Lost `json:"lost,omitempty"`
	// Window is the fault: as intended (on invoke), and with its hits (on info).
	Window *Window `json:"window,omitempty"`
	// Keys are the keys that a post-mortem found on Node, that Node evicted, or that
	// moved to it.
	Keys []KeyState `json:"keys,omitempty"`
}

// Reason says why an operation did not end with ok.
type Reason string

// Why an operation failed (fail), or why its outcome is unknown (info).
const (
	Busy    Reason = "busy"     // fail of an acquire: the client was refused, another holds the lock
	Refused Reason = "refused"  // fail: the recipe refused without asking Redis
	NotHeld Reason = "not-held" // fail of a release or extension: the client certainly no longer holds the lock
	Stale   Reason = "stale"    // fail of a read or write: the resource had seen a newer fencing token
	Unknown Reason = "unknown"  // info: an error or a timeout; the operation may have happened
	// Presumed is the reason of an acquire's info if, after an error or a timeout, the lock told
	// its client that the acquire was refused. The client goes on as after Busy, but the lock may
	// have been granted.
	Presumed Reason = "presumed-busy"
)

// Lease is a client's own knowledge of its hold.
type Lease struct {
	Token string `json:"token,omitempty"`
	Fence int64  `json:"fence,omitempty"` // fencing token, 0 = none
	// Deadline is when the holder must stop relying on the lock, by the *client's own* wall clock, in
	// nanoseconds since the true wall-clock time of the trial's start; 0 = the holder relies on the
	// lock until the release.
	Deadline time.Duration `json:"deadline,omitempty"`
	// Monotonic: Deadline is a time of the trial's clock instead, since the holder reads its monotonic
	// clock, which nobody can set.
	Monotonic bool `json:"monotonic,omitempty"`
}

// KeyState is one key of Op.Keys: a post-mortem found it, or a node evicted it or got it.
type KeyState struct {
	Key  string `json:"key"`
	Type string `json:"type"` // as Redis TYPE says
	// TTL is the remaining life by the node's clock; negative = the key never expires.
	TTL   time.Duration `json:"ttl"`
	Value Bytes         `json:"value,omitempty"` // a string's value, or a hash as "field=value ..." sorted by field
}
