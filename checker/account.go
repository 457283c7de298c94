package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Account is the content of a finding as data: what happened, why, and which assumption of
// leases did not hold. A Style makes sentences of it, and of nothing else.
type Account struct {
	// Fact is what happened. Its first client did it, or was hit by it; the other
	// clients are those it was done to.
	Fact
	// Holds are those that overlap. The hold of the client that came last is first.
	Holds []Believed `json:"holds,omitempty"`
	// Operations are those that contradict each other.
	Operations []Operation `json:"operations,omitempty"`
	// Grants are those that were robbed, left behind or ended on the nodes.
	Grants []Granted `json:"grants,omitempty"`
	// Reasons explain the Fact, the nearest first.
	Reasons []Fact `json:"reasons,omitempty"`
	// Broken is nil if every assumption of leases held: the recipe's own steps did it.
	Broken *Assumption `json:"broken,omitempty"`

	lock string // the finding's, for words
}

// Fact is one thing that happened. What is its kind. The sentence of each kind names the
// fields that a Fact of this kind has.
type Fact struct {
	What    What     `json:"what,omitempty"`
	Clients []int    `json:"clients,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Key     string   `json:"key,omitempty"`
	Command *Call    `json:"command,omitempty"`
	// At is when it happened; Since, Until and Read are other instants that belong to it.
	// All are on the history's clock.
	At    time.Duration `json:"at,omitempty"`
	Since time.Duration `json:"since,omitempty"`
	Until time.Duration `json:"until,omitempty"`
	Read  time.Duration `json:"read,omitempty"`
	// Span and Age are lengths of time, Offset is by how much a clock was ahead.
	Span   time.Duration `json:"span,omitempty"`
	Age    time.Duration `json:"age,omitempty"`
	Offset time.Duration `json:"offset,omitempty"`
	// Count is how many, Of of how many.
	Count int `json:"count,omitempty"`
	Of    int `json:"of,omitempty"`
	// Values are values that were read, or fences. The value of the first client is first.
	Values []int64       `json:"values,omitempty"`
	Late   bool          `json:"late,omitempty"` // the command belonged to an operation, of Read, that was over
	Ended  Ending        `json:"ended,omitempty"`
	Lost   *history.Lost `json:"lost,omitempty"`
	Fault  string        `json:"fault,omitempty"`
	Locks  []string      `json:"locks,omitempty"`
	// Results are what two ways of judging come to.
	Results []Result `json:"results,omitempty"`
	// Example is the cause of one finding in Verdict.Doubtful. It stands for the findings
	// that do not count.
	Example Cause         `json:"example,omitempty"`
	Link    *history.Link `json:"link,omitempty"`
	// Model is what operations were held against, Text what the code under test said.
	Model string `json:"model,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Call is one command of the log.
type Call struct {
	Index  int    `json:"index"` // the log's own
	Client int    `json:"client"`
	Node   string `json:"node"`
	// Name is the command's in capitals, or what its script is called; "" if nobody knows.
	Name    string        `json:"name,omitempty"`
	Script  bool          `json:"script,omitempty"`
	Sent    time.Duration `json:"sent"`
	Arrived time.Duration `json:"arrived,omitempty"`
	Ran     time.Duration `json:"ran,omitempty"`
	Replied time.Duration `json:"replied,omitempty"`
	Reply   string        `json:"reply,omitempty"`
}

// Believed is a hold as an account tells it.
type Believed struct {
	Client int           `json:"client"`
	Mode   history.Mode  `json:"mode,omitempty"`
	From   time.Duration `json:"from"`
	Until  time.Duration `json:"until,omitempty"` // 0 if nothing ended it
	Why    string        `json:"why"`             // as Hold.ToWhy
	// Extended: it came of being told of an extension, and not of an acquire.
	Extended bool `json:"extended,omitempty"`
}

func believed(h Hold) Believed {
	told := Believed{Client: h.Client, Mode: h.Mode, From: h.From, Why: h.ToWhy, Extended: h.Extended > 0}
	if h.To != Never {
		told.Until = h.To
	}
	return told
}

// Operation is an operation as an account tells it.
type Operation struct {
	Client int           `json:"client"`
	F      string        `json:"f"`
	Mode   history.Mode  `json:"mode,omitempty"`
	Fence  int64         `json:"fence,omitempty"` // that an acquire was granted with
	From   time.Duration `json:"from"`
	To     time.Duration `json:"to,omitempty"`
	Type   history.Type  `json:"type,omitempty"` // how it ended; "" if it was never answered
}

func operated(p *history.Pair) Operation {
	o := Operation{Client: p.Invoke.Client, F: p.Invoke.F, Mode: p.Invoke.Mode, From: p.Invoke.Time}
	if p.Invoke.F == history.FAcquire {
		o.Fence = leaseOf(p).Fence
	}
	if p.Complete != nil {
		o.To, o.Type = p.Complete.Time, p.Complete.Type
	}
	return o
}

// touched is an operation on the resource.
func touched(op history.Op) Operation {
	return Operation{Client: op.Client, F: op.F, Mode: op.Mode, From: op.Time, To: op.Time, Type: op.Type}
}

// Granted is what a grant put on one node.
type Granted struct {
	Client  int           `json:"client"`
	Node    string        `json:"node"`
	Key     string        `json:"key"`
	Place   string        `json:"place,omitempty"`
	Command *int          `json:"command,omitempty"` // the log's own index
	At      time.Duration `json:"at"`
	Until   time.Duration `json:"until,omitempty"` // 0 if it outlived the history
	Ended   Ending        `json:"ended,omitempty"`
}

// Ending is how a key stopped carrying a grant, or keeping others out.
type Ending string

// Endings.
const (
	WasRemoved   Ending = "removed"
	WasExpired   Ending = "expired"
	WasLost      Ending = "lost"
	WasTakenOver Ending = "taken-over"
	WasOverdue   Ending = "overdue" // it went on, for another reason
	WasLeft      Ending = "left"    // it was there when the run ended
	WasUnclear   Ending = "unclear"
)

// grants tells of these grants as an account does; nil ones are left out.
func (w *wire) grants(all ...*keyspace.Grant) (told []Granted) {
	for _, g := range all {
		if g == nil {
			continue
		}
		x := Granted{Client: g.Client, Node: g.Node, Key: g.Key, Place: g.Place, At: g.At.Lo}
		for _, index := range w.indexOf(g.Cmd) {
			x.Command = &index
		}
		switch {
		case g.Over != nil && (g.End == nil || g.OverSeq < g.End.Seq):
			x.Until, x.Ended = g.Over.At.Lo, WasTakenOver
		case g.End != nil:
			x.Until = g.End.At.Lo
			x.Ended = map[keyspace.How]Ending{
				keyspace.Deleted: WasRemoved, keyspace.Expired: WasExpired, keyspace.Lost: WasLost, keyspace.Unclear: WasUnclear,
			}[g.End.How]
		}
		told = append(told, x)
	}
	return told
}

// call is the command at that place of the log; nil if there is none.
func (w *wire) call(pos int) *Call {
	if pos < 0 || pos >= len(w.Commands) {
		return nil
	}
	c := w.Commands[pos]
	told := &Call{
		Index: c.Index, Client: c.Client, Node: c.Node, Name: w.name(pos),
		Sent: c.Sent, Arrived: c.Arrived, Ran: w.Ran(pos).Lo, Replied: c.Replied, Reply: string(c.Reply),
	}
	if sha, ok := c.Script(); ok {
		told.Script, told.Name = true, w.Claims.ScriptNames[sha]
	}
	return told
}

// Assumption is a premise of leases that did not hold in a trial.
type Assumption struct {
	Premise Premise `json:"premise"`
	But     Fact    `json:"but"` // what contradicts it
}

// Premise is what leases rely on.
type Premise string

// Premises.
const (
	ClientStops   Premise = "client-stops"
	ClientLives   Premise = "client-lives"
	ClientRenews  Premise = "client-renews"
	ClientReturns Premise = "client-returns"
	InTime        Premise = "in-time"
	Answered      Premise = "answered"
	NodeKeeps     Premise = "node-keeps"
	ReplicaHas    Premise = "replica-has"
	OnePrimary    Premise = "one-primary"
	ClocksAgree   Premise = "clocks-agree"
	ReadingFresh  Premise = "reading-fresh"
)
