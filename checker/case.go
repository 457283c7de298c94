package checker

import (
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Case is the evidence of one trial, prepared once for Judge and for package progress. The
// functions of package progress take the embedded case. A Case is not for concurrent use.
type Case struct {
	*evidence.Case
	known func() *premises
}

// NewCase returns the case of this evidence. The caller must not change the evidence while
// the case is in use.
func NewCase(e history.Evidence) *Case {
	f := &Case{Case: evidence.New(e)}
	f.known = sync.OnceValue(func() *premises { return premisesOf(f.Replay()) })
	return f
}

// Hold is one span of time during which a client believed that it held a lock.
type Hold = evidence.Hold

// Never is Hold.To of a hold that nothing in the history ended.
const Never = evidence.Never

// Holds returns the believed holds of a history, in order of From. No hold is empty. The
// error means that the history is impossible.
//
// A release ends the client's latest unreleased acquire of that lock and mode with the same token.
// If no acquire has the token, the release ends the latest unreleased acquire. A release without a
// mode has the mode of its acquire.
//
// An acquire that ended with info makes no hold. A release is ignored if it has the token of such
// an acquire, or if the client has no unreleased acquire. Releases are also ignored if their hold
// has already ended in another way.
func Holds(e history.Evidence) ([]Hold, error) {
	c := evidence.New(e)
	return c.Holds(), c.Sound()
}

// unanswered reports whether a command of the operation got no reply.
func (rp *trial) unanswered(op int) bool {
	return slices.ContainsFunc(rp.SentBy(op), func(pos int) bool { return rp.Commands[pos].Replied == 0 })
}

// blind returns the reason why the keys that commands reached are unknown; the zero Fact
// if they are known.
func (rp *trial) blind() account.Fact {
	switch node, blind := rp.Blind(); {
	case !blind:
		return account.Fact{}
	case node == "":
		return account.Fact{What: account.KeysUnrecorded}
	default:
		return account.Fact{What: account.KeysUnseen, Nodes: []string{node}, Text: rp.Unseen[node].Why}
	}
}

// indexOf returns the values of Command.Index for the commands at these places, sorted, each once.
func (rp *trial) indexOf(places ...int) []int {
	var indices []int
	for _, p := range places {
		if p >= 0 && p < len(rp.Commands) {
			indices = append(indices, rp.Commands[p].Index)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// text returns the content of a reply that is a bulk string, and whether the reply is one.
func text(reply string) (string, bool) {
	if len(reply) < 2 || reply[0] != '"' || reply[len(reply)-1] != '"' {
		return "", false
	}
	return reply[1 : len(reply)-1], true
}

// IsError reports whether a reply is an error, and not a status like OK. An error begins with its
// kind in capitals.
func IsError(reply string) bool {
	return history.Command{Reply: history.Bytes(reply)}.Failed()
}

// crossSlot is the kind of the error reply to a command whose keys are in different slots.
const crossSlot = "CROSSSLOT"

// hungUnder returns the time since which the grant's owner hangs in the work that it does under
// this grant; ok is false if the owner does not hang.
func (rp *trial) hungUnder(g *keyspace.Grant) (since time.Duration, ok bool) {
	since, hangs := rp.Hung[g.Client]
	h := rp.hold(g)
	return since, hangs && h != nil && h.From <= since && since < h.To
}

// believes reports whether, at time t, a client believed that it held the lock in a mode that is
// incompatible with the given mode. It ignores the client whose number is except.
func (rp *trial) believes(lock string, mode history.Mode, t time.Duration, except int) bool {
	after, _ := slices.BinarySearchFunc(rp.Holds, t, func(h Hold, t time.Duration) int {
		if h.From <= t {
			return -1
		}
		return 1
	})
	for i := after - 1; i >= 0 && t < rp.latest[i]; i-- {
		h := &rp.Holds[i]
		if h.Lock == lock && h.Client != except && t < h.To && !compatible(h.Mode, mode) {
			return true
		}
	}
	return false
}

// openAt reports whether the operation with the invocation op was under way at t; false if there
// is no such operation.
func (rp *trial) openAt(op int, t time.Duration) bool {
	p := rp.Operation(op)
	return rp.Has(op) && p.Invoke.Time <= t && t <= rp.DoneAt(p)
}

// compatible reports whether two owners may hold these modes together: only if both read.
func compatible(a, b history.Mode) bool { return a == history.Read && b == history.Read }

// readTime returns when the sender of the command at place pos had last asked that node for the time. Some
// locks count their leases by the answer. For a command inside an operation, only questions of that
// operation count. For any other command, only questions outside of operations count, and only within the
// last lease time. ok is false in two cases:
//
//   - There is no such question.
//   - The node's clock never jumped. Then the time of the question does not matter.
func (rp *ages) readTime(pos int, node string) (at time.Duration, ok bool) {
	if pos < 0 || len(rp.NodeClocks[node]) == 0 {
		return 0, false
	}
	c := rp.Commands[pos]
	// Outside of operations, a client no longer uses an answer that is older than a lease.
	oldest := time.Duration(0)
	if c.Op < 0 {
		oldest = c.Sent - rp.Claims.TTL
	}
	asked := rp.timesAsked[asker{c.Client, c.Op, node}]
	i, _ := slices.BinarySearch(asked, pos)
	for _, earlier := range slices.Backward(asked[:i]) {
		if ran := rp.Ran(earlier); ran.Hi < c.Sent {
			return ran.Lo, ran.Lo >= oldest
		}
	}
	return 0, false
}

// asker names a client, one of its operations (-1 for none), and the node that the client asks.
type asker struct {
	client, op int
	node       string
}
