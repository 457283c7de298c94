package checker

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Case is the evidence of one trial, prepared once for all questions. It is not for
// concurrent use.
type Case struct{ file *caseFile }

// NewCase returns the case of this evidence. The caller must not change the evidence while
// the case is in use.
func NewCase(e history.Evidence) *Case { return &Case{newCaseFile(e)} }

// caseFile is the evidence of one trial with the analyses that several oracles share. Each
// analysis is computed at its first use. Oracles change none of them, so that the order of
// oracles does not matter. A caseFile is not for concurrent use.
type caseFile struct {
	history.Evidence
	sound  func() error
	pairs  func() (pairing, error)
	holds  func() ([]Hold, error)
	index  func() (*historyIndex, error)
	replay func() (*replay, error)
}

func newCaseFile(e history.Evidence) *caseFile {
	e.Ops = moded(e)
	e = keyspace.Attribute(e)
	f := &caseFile{Evidence: e}
	f.sound = sync.OnceValue(func() error { return sound(e.Ops) })
	f.pairs = sync.OnceValues(func() (pairing, error) { return pair(e.Ops) })
	f.holds = sync.OnceValues(func() ([]Hold, error) { return readHolds(f) })
	f.index = sync.OnceValues(func() (*historyIndex, error) { return newHistoryIndex(f) })
	f.replay = sync.OnceValues(func() (*replay, error) {
		ix, err := f.index()
		if err != nil {
			return nil, err
		}
		return replayOf(ix), nil
	})
	return f
}

// pairing holds the operations of a history and the operation that each entry belongs to.
type pairing struct {
	ops []history.Op
	all []history.Pair // in order of invocation
	of  []int          // index in all, by index in ops; -1 for an event
}

func pair(ops []history.Op) (pairing, error) {
	all, err := history.Pairs(ops)
	if err != nil {
		return pairing{}, err
	}
	p := pairing{ops: ops, all: all, of: make([]int, len(ops))}
	for i := range p.of {
		p.of[i] = -1
	}
	for i := range all {
		if at := p.place(all[i].Invoke.Index); at >= 0 {
			p.of[at] = i
		}
		if all[i].Complete == nil {
			continue
		}
		if at := p.place(all[i].Complete.Index); at >= 0 {
			p.of[at] = i
		}
	}
	return p, nil
}

// place returns the place of the entry of that index; -1 if there is none. Indices ascend,
// and in our own histories they have no gaps.
func (p *pairing) place(index int) int {
	switch {
	case index < 0: // the index of a command without an operation
		return -1
	case index < len(p.ops) && p.ops[index].Index == index:
		return index
	}
	i, found := slices.BinarySearchFunc(p.ops, index, func(op history.Op, index int) int { return cmp.Compare(op.Index, index) })
	if !found {
		return -1
	}
	return i
}

// find returns the operation to which the entry of that index belongs; nil if there is
// none.
func (p *pairing) find(index int) *history.Pair {
	if at := p.place(index); at >= 0 && p.of[at] >= 0 {
		return &p.all[p.of[at]]
	}
	return nil
}

// moded returns the entries of a read-write lock with their modes filled in, since a
// release need not name the mode. An operation under an acquire gets the mode of that
// acquire. If there are several acquires, it is the one with the same token, else the
// latest that is still believed in, else the latest.
func moded(e history.Evidence) []history.Op {
	if !e.Claims.ReadWrite || !slices.ContainsFunc(e.Ops, modeless) {
		return e.Ops
	}
	m := moder{clocks: clocksOf(e.Ops), taken: map[clientLock][]taken{}, open: map[history.Process]history.Op{}}
	ops := slices.Clone(e.Ops)
	for i := range ops {
		if ops[i].Process != history.Nemesis {
			m.entry(&ops[i])
		}
	}
	return ops
}

func modeless(op history.Op) bool { return op.Process != history.Nemesis && op.Mode == "" }

// taken is an acquire that was not released yet.
type taken struct {
	mode  history.Mode
	token string
	sure  bool          // the acquire ended with ok
	until time.Duration // see stake.until
}

type moder struct {
	clocks map[int]clock
	taken  map[clientLock][]taken
	open   map[history.Process]history.Op
}

func (m *moder) entry(op *history.Op) {
	at := clientLock{client: op.Client, lock: op.Lock}
	switch {
	case op.F == history.FLost:
		for who, all := range m.taken {
			for i := range all {
				if who.client == op.Client && (op.Lock == "" || op.Lock == who.lock) && (op.Mode == "" || op.Mode == all[i].mode) {
					all[i].until = min(all[i].until, op.Time)
				}
			}
		}
	case op.Type != history.Invoke:
		in := m.open[op.Process]
		op.Mode = in.Mode
		if op.Type == history.Fail {
			return
		}
		lease := history.Pair{Invoke: &in, Complete: op}.Lease()
		until := Never
		if lease.Deadline != 0 {
			until = m.clocks[op.Client].shows(lease.Deadline, in.Time)
		}
		switch op.F {
		case history.FAcquire:
			m.taken[at] = append(m.taken[at], taken{op.Mode, lease.Token, op.Type == history.OK, until})
		case history.FExtend:
			for i := range m.taken[at] {
				if x := &m.taken[at][i]; lease.Deadline != 0 && x.until > op.Time {
					x.until = max(x.until, until)
				}
			}
		}
	default:
		if op.F != history.FAcquire {
			m.under(op, at)
		}
		m.open[op.Process] = *op
	}
}

// under sets the mode of an invocation to that of the acquire that it belongs to.
func (m *moder) under(op *history.Op, at clientLock) {
	best, rank := -1, 0
	for i, x := range m.taken[at] {
		r := 1
		switch {
		case op.Mode != "" && x.mode != op.Mode && (x.mode != "" || op.Mode != history.Write):
			continue // an acquire without a mode is for writing
		case op.Lease != nil && op.Lease.Token != "" && op.Lease.Token == x.token:
			r = 4
		case x.sure && x.until > op.Time:
			r = 3
		case x.sure:
			r = 2
		}
		if r >= rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return
	}
	op.Mode = m.taken[at][best].mode
	if op.F == history.FRelease {
		m.taken[at] = slices.Delete(m.taken[at], best, best+1)
	}
}

// replay is a trial replayed: its history, the log of its commands, and the grants that these
// commands made on the keys.
type replay struct {
	*historyIndex
	*keyspace.Keys
	// unanswered holds the operations with a command that got no reply.
	unanswered map[int]bool
	byOp       map[int][]int                     // places in the log, by operation
	nodeClocks map[string]clock                  // the jumps of nodes' wall clocks
	units      int                               // see countUnits
	renewing   []int                             // see renewals
	renewed    *renewalLog                       // see renewalLog
	shared     map[keyspace.KeyPlace]bool        // see sharedSpots
	lastRan    map[int]int                       // see lastOf
	recorded   map[keyspace.KeyPlace]bool        // see records
	blurred    *untoldGrants                     // see untold
	writes     map[keyWriter][]keyWrite          // see keyWrites
	copies     map[*keyspace.Grant]time.Duration // see copiedAsOf
	asking     map[owner][]interval              // see asks
	waiting    map[string]bool                   // see waitingKeys
	times      map[asker][]int                   // see timesAsked
	passing    map[string]bool                   // see passages
	handed     map[int][]*keyspace.Grant         // the grants that were handed to others, by the place of the command
}

func replayOf(ix *historyIndex) *replay {
	rp := &replay{historyIndex: ix, Keys: keyspace.Read(ix.Evidence), unanswered: map[int]bool{}, byOp: map[int][]int{}, nodeClocks: map[string]clock{}, handed: map[int][]*keyspace.Grant{}}
	for pos, c := range ix.Commands {
		rp.byOp[c.Op] = append(rp.byOp[c.Op], pos)
		if c.Replied == 0 {
			rp.unanswered[c.Op] = true
		}
	}
	for _, op := range ix.Ops {
		if op.Event(history.FNodeClock) {
			rp.nodeClocks[op.Node] = append(rp.nodeClocks[op.Node], offset{op.Time, op.Offset})
		}
	}
	for _, g := range rp.Grants {
		if g.Handed && !g.Copied {
			rp.handed[g.Cmd] = append(rp.handed[g.Cmd], g)
		}
	}
	rp.units = rp.countUnits()
	return rp
}

func (rp *replay) sentBy(op int) []int { return rp.byOp[op] }

// blind returns the reason why the keys that commands reached are unknown; the zero Fact
// if they are known.
func (rp *replay) blind() account.Fact {
	switch node, blind := rp.Blind(); {
	case !blind:
		return account.Fact{}
	case node == "":
		return account.Fact{What: account.KeysUnrecorded}
	default:
		return account.Fact{What: account.KeysUnseen, Nodes: []string{node}, Text: rp.Unseen[node].Why}
	}
}

// indexOf returns the log's own indices of the commands at these places, sorted.
func (rp *replay) indexOf(places ...int) []int {
	var indices []int
	for _, p := range places {
		if p >= 0 && p < len(rp.Commands) {
			indices = append(indices, rp.Commands[p].Index)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// name returns the name of a command in capitals; "command" if it has none.
func (rp *replay) name(pos int) string {
	args := rp.Commands[pos].Args
	if len(args) == 0 {
		return "command"
	}
	return strings.ToUpper(string(args[0]))
}

// text returns the content of a reply that is a bulk string, and whether the reply is one.
func text(reply string) (string, bool) {
	if len(reply) < 2 || reply[0] != '"' || reply[len(reply)-1] != '"' {
		return "", false
	}
	return reply[1 : len(reply)-1], true
}

// IsError reports whether a reply is an error, which begins with its kind in capitals, and
// not a status like OK.
func IsError(reply string) bool {
	return history.Command{Reply: history.Bytes(reply)}.Failed()
}

// crossSlot is the kind of the error reply to a command whose keys are in different slots.
const crossSlot = "CROSSSLOT"

func believed(h Hold) account.Believed {
	told := account.Believed{Client: h.Client, Mode: h.Mode, From: h.From, Why: h.ToWhy, Extended: h.Extended > 0}
	if h.To != Never {
		told.Until = h.To
	}
	return told
}

func operated(p *history.Pair) account.Operation {
	o := account.Operation{Client: p.Invoke.Client, F: p.Invoke.F, Mode: p.Invoke.Mode, From: p.Invoke.Time}
	if p.Invoke.F == history.FAcquire {
		o.Fence = p.Lease().Fence
	}
	if p.Complete != nil {
		o.To, o.Type = p.Complete.Time, p.Complete.Type
	}
	return o
}

func touched(op history.Op) account.Operation {
	return account.Operation{Client: op.Client, F: op.F, Mode: op.Mode, From: op.Time, To: op.Time, Type: op.Type}
}

// grants converts grants to the form of an account. It skips nil ones.
func (rp *replay) grants(all ...*keyspace.Grant) (told []account.Granted) {
	for _, g := range all {
		if g == nil {
			continue
		}
		x := account.Granted{Client: g.Client, Node: g.Node, Key: g.Key, Place: g.Place, At: g.At.Lo}
		for _, index := range rp.indexOf(g.Cmd) {
			x.Command = &index
		}
		switch {
		case g.Over != nil && (g.End == nil || g.OverSeq < g.End.Seq):
			x.Until, x.Ended = g.Over.At.Lo, account.WasTakenOver
		case g.End != nil:
			x.Until = g.End.At.Lo
			x.Ended = map[keyspace.How]account.Ending{
				keyspace.Deleted: account.WasRemoved, keyspace.Expired: account.WasExpired, keyspace.Lost: account.WasLost, keyspace.Unclear: account.WasUnclear,
			}[g.End.How]
		}
		told = append(told, x)
	}
	return told
}

// call returns the command at place pos of the log, or nil if there is none.
func (rp *replay) call(pos int) *account.Call {
	if pos < 0 || pos >= len(rp.Commands) {
		return nil
	}
	c := rp.Commands[pos]
	told := &account.Call{
		Index: c.Index, Client: c.Client, Node: c.Node, Name: rp.name(pos),
		Sent: c.Sent, Arrived: c.Arrived, Ran: rp.Ran(pos).Lo, Replied: c.Replied, Reply: string(c.Reply),
	}
	if sha, ok := c.Script(); ok {
		told.Script, told.Name = true, rp.Claims.ScriptNames[sha]
	}
	return told
}
