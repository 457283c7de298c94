package keyspace

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// When bounds an instant on the history's clock: it lies between the two. They are
// equal where it is known exactly.
type When struct{ Lo, Hi time.Duration }

// Mid is the likeliest instant, for texts: to the millisecond, as nobody knows it better.
func (w When) Mid() time.Duration { return (w.Lo + (w.Hi-w.Lo)/2).Round(time.Millisecond) }

// At is an instant that is known exactly.
func At(t time.Duration) When { return When{t, t} }

// Grant is what one command put in one place of one key on one node.
//
// A key may carry several at once: the fields of a hash, or those who raised one
// count. A grant that was overwritten is no longer carried, but its owner still
// profits from the key, so its life goes on until the place is empty.
type Grant struct {
	Node, Key string
	Place     string   // field or member; "" for a string
	Moved     []string // the nodes where it was before its slot moved
	Client    int      // whose command put it there; Stranger for nobody's
	Lock      string   // of its operation; "" for none
	Mode      history.Mode
	Op        int // the invocation whose command put it there; -1 for none
	Cmd       int // place of that command in the log; -1 for a stranger's
	At        When
	Seq       int    // its place among all that the reader saw, from 1; of a copy its original's
	Value     string // what stood there last; of a member ""
	// Rested: no value changed when the grant came about. Its operation succeeded
	// although, or because, the place held this value already.
	Rested bool
	// Beside: it is a share in a count. Others had shares there when it came about.
	Beside bool
	// Refused: it is a share in a count. Its acquire was told that it did not get the
	// lock. The share holds nothing, though it may keep others out.
	Refused bool
	// Copied: it came to this node by replication or over a restart, Came when.
	Copied bool
	Came   time.Duration
	// Over is the grant that took its place, OverSeq the Seq of that.
	Over    *Grant
	OverSeq int
	End     *End // nil: it outlived the history
	lives   trail[Term]
	counted bool          // it is a share in a count
	base    bool          // it is no share: it put the first number in a count that goes down
	values  trail[string] // that it has had: older values may come back
}

// Stranger is Grant.Client of a grant that no client of the trial made.
const Stranger = -1

// WasOn says whether the grant is on that node, or was before its slot moved.
func (g *Grant) WasOn(node string) bool { return g.Node == node || slices.Contains(g.Moved, node) }

// EndedBefore says whether the grant was over when the other came about. The two may be
// on different nodes.
func (g *Grant) EndedBefore(other *Grant) bool {
	return g.End != nil && (g.End.Seq < other.Seq || g.End.How == Expired && g.End.At.Hi < other.At.Lo)
}

// Forever is Grant.Until of a grant that outlived the history.
const Forever = time.Duration(1<<63 - 1)

// Until is the earlier of two instants: the grant's End, and when another took its place.
func (g *Grant) Until() time.Duration {
	until := Forever
	if g.Over != nil {
		until = g.Over.At.Lo
	}
	if g.End != nil {
		until = min(until, g.End.At.Lo)
	}
	return until
}

// Term is a life that a key was given while it carried a grant.
type Term struct {
	Cmd    int // place in the log, -1 for none
	Client int
	At     When
	Mortal bool // false: it lives on without end
	// Expiry is when it ends, Fair when it would if no clock had jumped.
	Expiry, Fair When
	// Event is the index of the history's entry in which the node fell back to this
	// older life; -1 for none.
	Event int
	// Moved is how much later the life ends because its node's clock jumped; earlier, if
	// negative. Most is the greatest value of Moved so far: a clock is set right again.
	Moved, Most time.Duration
}

// How is how a grant ended.
type How int

// Endings.
const (
	Deleted How = iota // by the command End.Cmd, or by a stranger if that is -1
	Expired            // by its last term
	Lost               // by its node: End.Event
	Unclear            // nobody saw how
)

// End is how a grant ended.
type End struct {
	How   How
	Cmd   int // place in the log, -1 for none
	Event int // index of the history's entry, -1 for none
	At    When
	Seq   int
}

// Kind is what a strike did to a grant.
type Kind int

// Kinds of strikes.
const (
	Removal     Kind = iota // the place is empty
	Replacement             // another value stands there
	Prolonging              // the life of the key is another
)

// Strike is a command that ended grants, or changed their lives.
type Strike struct {
	Cmd  int // place in the log
	Kind Kind
	Node string
	Key  string
	At   When
	Seq  int
	On   []*Grant // the grants that it struck, its sender's own included
}

// Contact is a command that reached a key which was there: it named it, or its script did.
type Contact struct {
	Cmd int
	At  When
	Seq int
	On  []*Grant // that the key carried before the command ran
}

// Step is one change of a key, with the owner before and after.
type Step struct {
	Change int // place in Evidence.Keys
	Cmd    int // place in the log, -1 for none
	At     When
	Seq    int
	// Owner is the latest grant that the key carried before; nil if none.
	Owner *Grant
	// Heir is the latest grant that the key carries since; nil if none.
	Heir *Grant
}

// Parting is a time in which two nodes served as primaries for the same keys. In a
// Cluster the keys are those of one shard. Several shards may be parted at once.
type Parting struct {
	Old, Heir   string
	Since       time.Duration
	From, Until int // Seq; Until is 0 if it did not end
}

// Keys is what became of all keys of a trial. Nothing in it may be changed.
type Keys struct {
	Grants   []*Grant // in the order in which they came about; copies when they came
	Strikes  []Strike
	Contacts []Contact
	Steps    []Step
	Partings []*Parting
	// Effects are the places in Evidence.Keys of the changes that each command made, by
	// the command's place in the log.
	Effects map[int][]int
	// Unseen says, by node, why and from when on the node's keys were not seen.
	Unseen map[string]Blindness
	// Last is the last Seq.
	Last int

	byOp     map[int][]*Grant
	holders  map[string][]string
	ran      []When
	watched  bool
	commands []history.Command
	unnamed  map[int][]string // keys that commands reached without their names, by place in the log
}

// Blindness is why a node's keys were not seen, and since when.
type Blindness struct {
	Since time.Duration
	Why   string
}

// Of returns the grants that the commands of that invocation made, copies included.
func (k *Keys) Of(op int) []*Grant { return k.byOp[op] }

// Holding are the keys that ever carried a grant of that lock, in order of
// appearance.
func (k *Keys) Holding(lock string) []string { return k.holders[lock] }

// Ran bounds when the command at that place of the log was executed, if it was.
func (k *Keys) Ran(pos int) When { return k.ran[pos] }

// Parted returns the parting of these two nodes that contains seq; nil if there is none.
func (k *Keys) Parted(a, b string, seq int) *Parting {
	for _, p := range k.Partings {
		if (p.Old == a && p.Heir == b || p.Old == b && p.Heir == a) && p.From < seq && (p.Until == 0 || seq < p.Until) {
			return p
		}
	}
	return nil
}

// Blind says whether the keys that commands reached are unknown. Either no key was seen,
// or some node's keys were not.
func (k *Keys) Blind() (node string, blind bool) {
	if !k.watched && k.Touched() {
		return "", true
	}
	for _, c := range k.commands {
		if _, ok := k.Unseen[c.Node]; ok && c.Exec > 0 {
			return c.Node, true
		}
	}
	return "", false
}

// Touched says whether any command has an argument: a key's name, or anything else.
func (k *Keys) Touched() bool {
	return slices.ContainsFunc(k.commands, func(c history.Command) bool { return len(c.Args) > 1 })
}
