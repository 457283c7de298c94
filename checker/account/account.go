package account

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Account is the content of a finding as data: what happened, why, and which assumption of
// leases failed. A Style makes its sentences from an Account alone.
type Account struct {
	// Fact is the event itself. Its first client acted or suffered the harm; its other clients are
	// the other parties.
	Fact
	// Holds are the overlapping holds. The hold of the client that came last is first.
	Holds []Believed `json:"holds,omitempty"`
	// Operations are the operations that contradict each other.
	Operations []Operation `json:"operations,omitempty"`
	// Grants are the grants on the nodes that the finding is about, such as a grant that another client
	// removed, or a grant that its owner left behind.
	Grants []Granted `json:"grants,omitempty"`
	// Reasons explain the Fact, the most direct reason first.
	Reasons []Fact `json:"reasons,omitempty"`
	// Broken is the premise of leases that did not hold. It is nil if every premise held: then the recipe
	// itself is at fault.
	Broken *Assumption `json:"broken,omitempty"`
}

// Fact is one event, and What is its kind. Only the fields that the sentence of this kind uses are
// set.
type Fact struct {
	What    What     `json:"what,omitempty"`
	Clients []int    `json:"clients,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Key     string   `json:"key,omitempty"`
	Command *Call    `json:"command,omitempty"`
	// At is the time of the event; Since, Until and Read are related times. All are on the
	// history's clock.
	At    time.Duration `json:"at,omitempty"`
	Since time.Duration `json:"since,omitempty"`
	Until time.Duration `json:"until,omitempty"`
	Read  time.Duration `json:"read,omitempty"`
	// Span and Age are durations; Offset is how far a clock was or jumped ahead, negative for
	// behind or back.
	Span   time.Duration `json:"span,omitempty"`
	Age    time.Duration `json:"age,omitempty"`
	Offset time.Duration `json:"offset,omitempty"`
	// Count is a number of things. Of is a second number, mostly the total: for FreedEarly, Count is
	// the number of releases and Of that of acquires.
	Count int `json:"count,omitempty"`
	Of    int `json:"of,omitempty"`
	// Values are the two values of one read, or fences. The first client's fence is first.
	Values []int64       `json:"values,omitempty"`
	Late   bool          `json:"late,omitempty"` // the command arrived after its operation had ended; that operation was invoked at Read
	Ended  Ending        `json:"ended,omitempty"`
	Lost   *history.Lost `json:"lost,omitempty"`
	Fault  string        `json:"fault,omitempty"`
	Locks  []string      `json:"locks,omitempty"`
	// Example is the cause of one finding in checker.Verdict.Doubtful, as an example of the
	// findings that do not count.
	Example string        `json:"example,omitempty"`
	Link    *history.Link `json:"link,omitempty"`
	// Model names the model that operations were checked against; Text is a text to quote, such as
	// the error of the code under test.
	Model string `json:"model,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Call is one command of the log.
type Call struct {
	Index  int    `json:"index"` // in the log
	Client int    `json:"client"`
	Node   string `json:"node"`
	// Name is the command in capitals, or the name of its script; "" if that is unknown.
	Name    string        `json:"name,omitempty"`
	Script  bool          `json:"script,omitempty"`
	Sent    time.Duration `json:"sent"`
	Arrived time.Duration `json:"arrived,omitempty"`
	Ran     time.Duration `json:"ran,omitempty"`
	Replied time.Duration `json:"replied,omitempty"`
	Reply   string        `json:"reply,omitempty"`
}

// Believed is a hold as sentences need it: the time for which a client believed that it held the
// lock.
type Believed struct {
	Client int           `json:"client"`
	Mode   history.Mode  `json:"mode,omitempty"`
	From   time.Duration `json:"from"`
	Until  time.Duration `json:"until,omitempty"` // 0 if nothing ended it
	Why    string        `json:"why"`             // ByRelease, ByDeadline, ByLost, ByCrash or ByNothing
	// Extended: the hold began with the reply to an extension, not to an acquire.
	Extended bool `json:"extended,omitempty"`
}

// The values of Believed.Why: what ended the hold.
const (
	ByRelease  = "release"
	ByDeadline = "deadline"
	ByLost     = "lost"
	ByCrash    = "crash"
	ByNothing  = "never"
)

// Operation is an operation as sentences need it, such as an acquire of a client and its time.
type Operation struct {
	Client int           `json:"client"`
	F      string        `json:"f"`
	Mode   history.Mode  `json:"mode,omitempty"`
	Fence  int64         `json:"fence,omitempty"` // the fence that an acquire was granted
	From   time.Duration `json:"from"`
	To     time.Duration `json:"to,omitempty"`
	Type   history.Type  `json:"type,omitempty"` // how the operation ended; "" if it was never answered
}

// Granted is a grant on one node.
type Granted struct {
	Client  int           `json:"client"`
	Node    string        `json:"node"`
	Key     string        `json:"key"`
	Place   string        `json:"place,omitempty"`
	Command *int          `json:"command,omitempty"` // the index of the command in the log; nil if unknown
	At      time.Duration `json:"at"`
	Until   time.Duration `json:"until,omitempty"` // 0 if the grant outlived the history
	Ended   Ending        `json:"ended,omitempty"`
}

// Ending is the way in which a key stopped carrying a grant or stopped keeping others out.
type Ending string

// The endings of grants.
const (
	WasRemoved   Ending = "removed"
	WasExpired   Ending = "expired"
	WasLost      Ending = "lost"
	WasTakenOver Ending = "taken-over"
	WasOverdue   Ending = "overdue" // the key went on keeping others out, but from then on for another cause
	WasLeft      Ending = "left"    // the key was there when the run ended
	WasUnclear   Ending = "unclear"
)

// Assumption is a premise of leases that did not hold in a trial.
type Assumption struct {
	Premise Premise `json:"premise"`
	But     Fact    `json:"but"` // the fact that contradicts the premise
}

// Premise is something that leases rely on.
type Premise string

// The premises of leases.
var (
	ClientStops   = premise("client-stops", "a client stops when its lease ends")
	CountsRight   = premise("counts-right", "a client does not claim more than its lease")
	ClientLives   = premise("client-lives", "a client lives to give back what it holds")
	ClientRenews  = premise("client-renews", "a client is there to renew its lease")
	WorkEnds      = premise("work-ends", "a client comes back from its work")
	ClientReturns = premise("client-returns", "a client gives back what it holds before its lease ends")
	InTime        = premise("in-time", "a message arrives or is lost within the lease")
	Answered      = premise("answered", "every message arrives and is answered")
	NodeKeeps     = premise("node-keeps", "a node keeps what it acknowledged")
	ReplicaHas    = premise("replica-has", "a replica has what its primary acknowledged")
	OnePrimary    = premise("one-primary", "there is one primary at a time")
	ClocksAgree   = premise("clocks-agree", "clocks agree")
	ReadingFresh  = premise("reading-fresh", "a time that a client read from its clock is still right when the client uses it")
)
