package checker

import (
	"slices"
	"strings"

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
func (rp *replay) blind() Fact {
	switch node, blind := rp.Blind(); {
	case !blind:
		return Fact{}
	case node == "":
		return Fact{What: KeysUnrecorded}
	default:
		return Fact{What: KeysUnseen, Nodes: []string{node}, Text: rp.Unseen[node].Why}
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

// name returns the name of a command for texts: "DEL", or "script" with the script's name.
func (rp *replay) name(pos int) string {
	if pos < 0 {
		return "command"
	}
	args := rp.Commands[pos].Args
	if len(args) == 0 {
		return "command"
	}
	name := strings.ToUpper(string(args[0]))
	if sha, ok := rp.Commands[pos].Script(); ok {
		return scriptName(rp.Claims.ScriptNames[sha])
	}
	return name
}

func scriptName(known string) string {
	if known == "" {
		return "script"
	}
	return "script " + known
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
