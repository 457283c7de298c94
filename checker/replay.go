package checker

import (
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// replay is a trial replayed: its history, the log of its commands, and the grants that these
// commands made on the keys.
type replay struct {
	*historyIndex
	*keyspace.Keys
	// unanswered holds the operations with a command that got no reply.
	unanswered map[int]bool
	byOp       map[int][]int              // places in the log, by operation
	nodeClocks map[string]clock           // the jumps of nodes' wall clocks
	units      int                        // see countUnits
	renewing   []int                      // see renewals
	renewed    *renewalLog                // see renewalLog
	shared     map[keyspace.KeyPlace]bool // see sharedSpots
	lastRan    map[int]int                // see lastOf
	recorded   map[keyspace.KeyPlace]bool // see records
	blurred    *untoldGrants              // see untold
	writes     map[keyWriter][]keyWrite   // see keyWrites
	asking     map[owner][]interval       // see asks
	waiting    map[string]bool            // see waitingKeys
	handed     map[int][]*keyspace.Grant  // the grants that were handed to others, by the place of the command
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
		if op.F == history.FNodeClock && op.Process == history.Nemesis && op.Window == nil {
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
