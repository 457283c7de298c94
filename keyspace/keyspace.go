package keyspace

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// When bounds an instant on the history's clock: the instant lies between Lo and Hi. Lo and
// Hi are equal if the instant is known exactly.
type When struct{ Lo, Hi time.Duration }

// Mid returns the middle of the bounds, rounded to the millisecond, for use in texts.
func (w When) Mid() time.Duration { return (w.Lo + (w.Hi-w.Lo)/2).Round(time.Millisecond) }

// At returns an instant that is known exactly.
func At(t time.Duration) When { return When{t, t} }

// Grant is the value that one command put in one place of one key on one node.
//
// A key may carry several grants at once: the fields of a hash, or the shares of clients
// that raised one count. An overwritten grant is no longer carried by its key. But its
// owner still profits from the key, so the grant ends only when the place becomes empty.
type Grant struct {
	Node, Key string
	Place     string   // field or member; "" for a string
	Moved     []string // the nodes that had the key before its slot moved
	Client    int      // the owner: the sender, or the client to which it was Handed; Stranger for none
	Lock      string   // the lock of the operation; "" for none
	Mode      history.Mode
	Op        int // index of the invocation that sent the command; -1 for none
	Cmd       int // position of the command in the log; -1 for a stranger
	At        When
	Seq       int    // position among everything that the reader saw, from 1; a copy keeps its original's
	Value     string // the latest value of the place; "" for a member
	// Rested: the operation succeeded but changed no value. It relied on the value that the
	// place already held, or wrote the same value again.
	Rested bool
	// Handed: another client's command, Cmd, put this client's token in the place. Op is
	// the client's latest acquire that passed the token as an argument; -1 if the client no
	// longer waits for the lock.
	Handed bool
	// JoinedOthers: the grant is a share in a count; when it was made, other shares were there.
	JoinedOthers bool
	// Refused: the grant is a share in a count, and its acquire was told that it did not
	// get the lock. The share holds nothing, though it may keep others out.
	Refused bool
	// Copied: the grant came to this node, at the time Came, by replication or through a
	// restart.
	Copied bool
	Came   time.Duration
	// Over is the grant that overwrote this one; OverSeq is the Seq of that grant.
	Over    *Grant
	OverSeq int
	End     *End // nil if the grant outlived the history
	terms   trail[Term]
	counted bool          // the grant is a share in a count
	base    bool          // the grant is no share: it initialised a count that goes down
	values  trail[string] // all values that the grant has had, since an older one may come back
}

// Stranger is Grant.Client of a grant that no client of the trial made.
const Stranger = -1

// WasOn reports whether the node carries the grant, or carried it before its slot moved.
func (g *Grant) WasOn(node string) bool { return g.Node == node || slices.Contains(g.Moved, node) }

// EndedBefore reports whether the grant had ended before the other grant was made. The two
// may be on different nodes.
func (g *Grant) EndedBefore(other *Grant) bool {
	return g.End != nil && (g.End.Seq < other.Seq || g.End.How == Expired && g.End.At.Hi < other.At.Lo)
}

// Forever is what Grant.Until returns for a grant that neither ended nor was overwritten.
const Forever = time.Duration(1<<63 - 1)

// Until returns the earliest time at which the grant may have ended or been overwritten by
// another grant. It returns Forever if neither happened.
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

// Term is a TTL that a key got while it carried a grant, or the fact that the key had no
// TTL.
type Term struct {
	Cmd    int // position in the log of the command that set the TTL; -1 for none
	Client int
	At     When
	Mortal bool // false if the key has no TTL
	// Expiry is the time at which the term ends. Fair is the time at which the term would
	// end if no clock had jumped.
	Expiry, Fair When
	// Event is the index of the history's entry in which the node fell back to an older
	// state that had this term; -1 for none.
	Event int
	// Moved is how far jumps of the node's clock postponed the end of the term; it is negative if they
	// advanced the end. Most is the greatest value that Moved ever had: a later jump may set the clock right
	// again.
	Moved, Most time.Duration
}

// How is the way in which a grant ended.
type How int

// The ways in which a grant ends.
const (
	Deleted How = iota // by the command End.Cmd, or by a stranger if End.Cmd is -1
	Expired            // the last term of the grant ended
	Lost               // the node lost the grant, in the event End.Event
	Unclear            // the end was not observed
)

// End is the end of a grant.
type End struct {
	How   How
	Cmd   int // position of the command in the log, -1 for none
	Event int // index of the history's entry, -1 for none
	At    When
	Seq   int
}

// Kind is the effect of a strike on a grant.
type Kind int

// The kinds of strikes.
const (
	Removal     Kind = iota // the strike emptied the place
	Replacement             // the strike put another value in the place
	Prolonging              // the strike changed the TTL of the key
)

// Strike is a command that ended grants or changed their TTL.
type Strike struct {
	Cmd  int // position of the command in the log
	Kind Kind
	Node string
	Key  string
	At   When
	Seq  int
	On   []*Grant // the grants that it struck, including those of its sender
}

// Contact is a command that reached an existing key: the command or its script names the
// key, or the command changed the key.
type Contact struct {
	Cmd int
	At  When
	Seq int
	On  []*Grant // the grants that the key carried before the command ran
}

// Step is one change of a key, with the latest grants that the key carried before and after it.
type Step struct {
	Change int // position in Evidence.Keys
	Cmd    int // position of the command in the log, -1 for none
	At     When
	Seq    int
	// Owner is the latest grant that the key carried before the change; nil if none.
	Owner *Grant
	// Heir is the latest grant that the key carries after the change; nil if none.
	Heir *Grant
}

// SplitBrain is a period in which two nodes both served as primary for the same keys. In a
// Cluster these are the keys of one shard; several shards may have one at the same time.
type SplitBrain struct {
	Old, Heir   string
	Since       time.Duration
	From, Until int // Seq at which the split brain began and ended; Until is 0 if it did not end
}

// Keys holds the grants on all keys of a trial and the commands that affected them. It
// must not be changed.
type Keys struct {
	Grants      []*Grant // in order of creation; copies in order of arrival
	Strikes     []Strike
	Contacts    []Contact
	Steps       []Step
	SplitBrains []*SplitBrain
	// Effects has, by position of a command in the log, the changes that the command made, as
	// positions in Evidence.Keys.
	Effects [][]int
	// Differences has the effect of each change on the places of its key, by position in Evidence.Keys.
	Differences []Difference
	// Unseen tells, by node, when and why the node's keys became unobservable. It lists only such nodes.
	Unseen map[string]Blindness
	// Refused has the acquires that succeeded although Redis had refused their last command, with that
	// command's position in the log.
	Refused map[int]int
	// Last is the greatest Seq of the trial.
	Last int

	byOp     map[int][]*Grant    // by index of the invocation; see Of
	holders  map[string][]string // by lock; see Holding
	pairing  history.Pairing
	sent     [][]int // by place in pairing.Ops; see SentBy
	ran      []When  // by position in the log; see Ran
	watched  bool
	commands []history.Command
	unnamed  map[int][]string // by position in the log: keys whose names the command's script built
}

// Blindness tells since when a node's keys were not observed, and why.
type Blindness struct {
	Since time.Duration
	Why   string
}

// Of returns the grants that the commands of one operation made, including copies. op is the index
// of the operation's invocation.
func (k *Keys) Of(op int) []*Grant { return k.byOp[op] }

// SentBy returns the positions in the log of the commands that one operation sent. op is the index of the
// operation's invocation.
func (k *Keys) SentBy(op int) []int {
	if at := k.pairing.Place(op); at >= 0 {
		return k.sent[at]
	}
	return nil
}

// Holding returns the keys that ever carried a grant of the lock, in order of appearance.
func (k *Keys) Holding(lock string) []string { return k.holders[lock] }

// Ran returns bounds of the execution time of the command at position pos of the log. They
// mean nothing if the command was not executed.
func (k *Keys) Ran(pos int) When { return k.ran[pos] }

// SplitBrainOf returns the split brain of the nodes a and b that was open at seq; nil if there is none.
func (k *Keys) SplitBrainOf(a, b string, seq int) *SplitBrain {
	for _, p := range k.SplitBrains {
		if (p.Old == a && p.Heir == b || p.Old == b && p.Heir == a) && p.From < seq && (p.Until == 0 || seq < p.Until) {
			return p
		}
	}
	return nil
}

// Blind reports whether commands ran but the keys that they reached were not observed. node is
// the node whose keys were not observed; "" if no node was observed.
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

// Touched reports whether any command has an argument, such as the name of a key.
func (k *Keys) Touched() bool {
	return slices.ContainsFunc(k.commands, func(c history.Command) bool { return len(c.Args) > 1 })
}
