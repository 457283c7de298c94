package checker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// classifyFindings finds the causes of unclassified findings. Most findings have two parties. The first
// party was granted the lock first. The second party was granted the lock while the first party still
// believed that it held the lock. The cause is mostly how the first party's grant ended before the second
// party's grant. A finding with several causes becomes several findings. A finding without a known
// cause stays unclassified.
func classifyFindings(file *Case, fs []Finding) []Finding {
	rp := file.known()
	var classified []Finding
	for _, f := range fs {
		if f.Cause != "" && f.Cause != Unclassified {
			classified = append(classified, f)
			continue
		}
		reasons := rp.explain(f)
		if len(reasons) == 0 {
			f.Cause = Unclassified
			classified = append(classified, f)
		}
		for _, r := range reasons {
			split := f
			split.Cause = r.cause
			split.Account.Reasons = []account.Fact{r.why}
			split.Account.Grants = rp.grants(r.first)
			split.Commands = rp.indexOf(r.cmds...)
			split.Account.Broken = rp.broken(suspicion{split, r.first, r.cmds})
			classified = append(classified, split)
		}
	}
	return classified
}

// reason explains why one node granted the lock to the second party although the first party held
// it.
type reason struct {
	cause Cause
	why   account.Fact
	cmds  []int           // places in the log of the commands that show the cause
	first *keyspace.Grant // the grant of the client that had the lock first; mostly it had ended
}

// of sets r.first to the given grant, unless r.first is already set, and returns the reason.
func (r reason) of(first *keyspace.Grant) reason {
	if r.first == nil {
		r.first = first
	}
	return r
}

func because(cause Cause, cmds []int, why account.Fact) reason {
	return reason{cause: cause, why: why, cmds: cmds}
}

// unclear stands for an unknown cause.
var unclear = reason{cause: Unclassified}

// explain returns the reasons of a finding, one for each cause; none if no cause is known.
func (rp *endings) explain(f Finding) []reason {
	if r, indistinct := rp.indistinctCause(f); indistinct {
		return r
	}
	if r, absent := rp.explainAbsence(f); absent && !rp.anyStillborn(f) {
		return []reason{r}
	}
	switch len(f.Clients) {
	case 1:
		if a := rp.party(f, f.Clients[0]); len(a) > 0 {
			return known([]reason{rp.letIn(a[len(a)-1], nil).of(a[len(a)-1])})
		}
		return nil
	case 0:
		return nil
	case 2:
	default:
		return rp.explainCrowd(f)
	}
	a, b := rp.party(f, f.Clients[0]), rp.party(f, f.Clients[1])
	a, b = rp.carrying(a), rp.carrying(b)
	if len(a) == 0 || len(b) == 0 {
		return rp.explainKeyless(f, map[int][]*keyspace.Grant{f.Clients[0]: a, f.Clients[1]: b})
	}
	if earliest(a) > earliest(b) {
		a, b = b, a
	}
	var reasons []reason
	for _, pair := range rp.decisive(meeting(a, b)) {
		x, y := pair[0], pair[1]
		if x.Key != y.Key && rp.Claims.NodeQuorum() <= 1 && apart(a, b) {
			continue // the first party had no part of the lock there
		}
		if x.Seq > y.Seq {
			x, y = y, x
		}
		x = rp.asOf(x, y)
		reasons = append(reasons, rp.letIn(x, y).of(x))
	}
	if len(reasons) == 0 {
		return known([]reason{rp.onDifferentNodes(a, b).of(a[0])})
	}
	// On nodes where the first party had no grant, nothing kept the second party out, so that these
	// nodes need no reason.
	needed := max(1, rp.Claims.NodeQuorum()-(nodesOf(b)-len(reasons)))
	return known(sufficient(reasons, needed))
}

func nodesOf(grants []*keyspace.Grant) int {
	nodes := map[string]bool{}
	for _, g := range grants {
		nodes[g.Node] = true
	}
	return len(nodes)
}

func earliest(grants []*keyspace.Grant) int {
	return slices.MinFunc(grants, func(a, b *keyspace.Grant) int { return cmp.Compare(a.Seq, b.Seq) }).Seq
}

// party returns the client's grants that the finding is about, in order of node. For a re-entry
// that sent no command, they are the grants of an earlier acquire.
func (rp *endings) party(f Finding, client int) []*keyspace.Grant {
	last := rp.acquireIn(f, client, true)
	if last < 0 && !rp.sentSomething(rp.acquireIn(f, client, false)) {
		last = rp.latestBefore(f, client)
	}
	if last < 0 {
		return nil
	}
	type nodePlace struct {
		keyspace.NodeKey
		place string
	}
	latest := map[nodePlace]*keyspace.Grant{}
	own := rp.ownOf(last)
	inTime := slices.DeleteFunc(slices.Clone(own), rp.madeLate)
	if _, refused := rp.Refused[last]; refused || len(inTime) > 0 {
		own = inTime
	}
	for _, g := range own {
		if g.Came > f.To {
			continue // a copy that came after the finding does not count
		}
		at := nodePlace{g.NodeKey(), g.Place}
		if old := latest[at]; old == nil || old.Seq <= g.Seq { // of several copies, keep the latest
			latest[at] = g
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b *keyspace.Grant) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Seq, b.Seq))
	})
}

// madeLate reports whether a command made the grant after the acquire had succeeded without it, for
// example a command that was delayed on its way to one of several nodes.
func (rp *trial) madeLate(g *keyspace.Grant) bool {
	p := rp.Operation(g.Op)
	return p.Done() == history.OK && !g.Copied && g.At.Lo > p.Complete.Time
}

// latestBefore returns the client's latest acquire of the finding's lock that had
// succeeded by the start of the finding and put something on a node; -1 if there is none.
func (rp *endings) latestBefore(f Finding, client int) int {
	last := -1
	for _, h := range rp.Holds {
		if h.Client != client || h.Lock != f.Lock || h.From > f.From {
			continue
		}
		for _, ok := range append([]int{h.Acquire}, h.Nested...) {
			if op, _ := rp.Invocation(ok); len(rp.Of(op)) > 0 && rp.Operation(op).Complete.Time <= f.From {
				last = max(last, op)
			}
		}
	}
	return last
}

// sufficient returns the reasons whose cause alone freed as many nodes as the second party needed for
// its quorum. If there are none, it returns all reasons.
func sufficient(reasons []reason, needed int) []reason {
	count := map[Cause]int{}
	for _, r := range reasons {
		count[r.cause]++
	}
	enough := slices.DeleteFunc(slices.Clone(reasons), func(r reason) bool {
		return count[r.cause] < needed || r.cause == Unclassified
	})
	if len(enough) > 0 {
		return enough
	}
	return reasons
}

// known drops unclear reasons and merges the reasons that share a cause.
func known(reasons []reason) []reason {
	var joined []reason
	for _, r := range reasons {
		if r.cause == Unclassified {
			continue
		}
		if i := slices.IndexFunc(joined, func(j reason) bool { return j.cause == r.cause }); i >= 0 {
			joined[i].cmds = append(slices.Clone(joined[i].cmds), r.cmds...)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// onDifferentNodes explains two grants that have no node in common.
func (rp *endings) onDifferentNodes(a, b []*keyspace.Grant) reason {
	first, second := a[0], b[0]
	switch {
	case rp.Claims.NodeQuorum() <= 1 && first.EndedBefore(second):
		return rp.letIn(first, second) // another node was promoted since
	case rp.Claims.NodeQuorum() <= 1:
		return rp.byTwoPrimaries(first, second)
	}
	return because(Race, []int{first.Cmd, second.Cmd},
		account.Fact{What: account.ByOtherNodes, Clients: []int{first.Client, second.Client}, Count: len(a), Of: len(b)})
}

// byTwoPrimaries explains two grants that two primaries made while both served clients.
func (rp *endings) byTwoPrimaries(first, second *keyspace.Grant) reason {
	p := rp.SplitBrainOf(first.Node, second.Node, second.Seq)
	if p == nil {
		return unclear
	}
	return because(ServerLostKey, []int{first.Cmd, second.Cmd}, account.Fact{
		What: account.ByTwoPrimaries, Nodes: []string{p.Old, p.Heir, second.Node, first.Node}, Since: p.Since,
		Key: first.Key, Clients: []int{first.Client}, At: first.At.Lo,
	})
}

// letIn returns the reason why the second grant was made although the first had been made. If
// second is nil, it returns how the first grant ended.
func (rp *endings) letIn(first, second *keyspace.Grant) reason {
	before := rp.Last + 1
	if second != nil {
		before = second.Seq
	}
	end := first.End
	if end != nil && end.Seq > before && !(second != nil && first.EndedBefore(second)) {
		// first ended only after second was made, so this end did not let second in. There is one
		// exception: a single command made second and then removed first. No time passes between
		// the changes of one command.
		if second != nil && end.How == keyspace.Deleted && end.Cmd >= 0 && end.Cmd == second.Cmd {
			if r, stale := rp.tookOver(first, end.Cmd); stale {
				return r
			}
		}
		end = nil
	}
	if o := first.Over; o != nil && first.OverSeq <= before && (end == nil || first.OverSeq < end.Seq) &&
		o.Client != first.Client {
		by, op := rp.maker(o)
		if by == first.Client {
			return rp.deletedBy(first, &keyspace.End{How: keyspace.Deleted, Cmd: o.Cmd, At: o.At, Seq: o.Seq})
		}
		if _, isAcquire := rp.Acquired(op); !isAcquire && o.Cmd >= 0 {
			return because(ForeignDelete, []int{first.Cmd, o.Cmd}, rp.deed(account.ReplacedKey, by, o.Cmd, o.At.Lo, first))
		}
		if rp.hold(o) != nil {
			return rp.overwritten(first, o)
		}
	}
	if end == nil {
		return rp.whileStanding(first, second)
	}
	switch end.How {
	case keyspace.Deleted:
		if end.Cmd < 0 {
			return unclear // the command that deleted the key is not on record
		}
		if g := rp.usurped(first, rp.Commands[end.Cmd].Client, end.Seq); g != nil {
			return rp.overwritten(g, g.Over)
		}
		return rp.deletedBy(first, end)
	case keyspace.Expired:
		return rp.expiredUnder(first, second)
	case keyspace.Lost:
		return rp.lostBy(first, end)
	}
	if last := first.Last(); last.Mortal && last.Expiry.Lo <= end.At.Hi {
		return rp.expiredUnder(first, second) // the key's TTL had run out by then anyway
	}
	return unclear
}

// maker returns the client whose command made the grant, and the operation of that command.
func (rp *trial) maker(g *keyspace.Grant) (client, op int) {
	if g.Handed {
		c := rp.Commands[g.Cmd]
		return c.Client, c.Op
	}
	return g.Client, g.Op
}

// overwritten explains a grant whose place was overwritten by another client's acquire.
//
// A read-write lock may have only one place for all readers. Then the second reader's grant
// overwrites the first reader's, and a release by the second reader removes only its own grant. So
// the cause is Race, and not ForeignDelete.
func (rp *endings) overwritten(first, over *keyspace.Grant) reason {
	cmds := []int{first.Cmd, over.Cmd}
	switch {
	case compatible(first.Mode, over.Mode):
		return because(Race, cmds, account.Fact{What: account.RecordShared, Clients: []int{over.Client, first.Client}, At: over.At.Lo})
	case rp.Claims.ClientClock:
		return rp.takenOver(first, over.Cmd)
	}
	if r, stale := rp.tookOver(first, over.Cmd); stale {
		return r
	}
	if first.Copied && rp.lostInPart(first) {
		if r := rp.lostBy(first, &keyspace.End{Event: -1}); r.cause != Unclassified {
			return r
		}
	}
	return because(Race, cmds, rp.deed(account.Overwritten, over.Client, over.Cmd, over.At.Lo, first))
}

// whileStanding explains a second grant that was made while the first still stood.
func (rp *endings) whileStanding(first, second *keyspace.Grant) reason {
	switch {
	case second == nil:
		return unclear
	case rp.Claims.ClientClock:
		return rp.takenOver(first, second.Cmd)
	}
	if r, stale := rp.tookOver(first, second.Cmd); stale {
		return r
	}
	return because(Race, []int{first.Cmd, second.Cmd}, rp.deed(account.BesideKey, second.Client, second.Cmd, second.At.Lo, first))
}

// deed returns the fact that a client's command did something to another client's grant.
func (rp *trial) deed(what account.What, client, cmd int, at time.Duration, on *keyspace.Grant) account.Fact {
	return account.Fact{
		What: what, Clients: []int{client, on.Client}, Nodes: []string{on.Node}, Key: on.Key,
		Command: rp.call(cmd), At: at, Since: on.At.Lo,
	}
}

// deletedBy explains a grant that a command removed. The sender of the command determines the cause:
//
//   - The first party sent the command before the acquire of this grant or, outside every operation, before the key was
//     set, as a clean-up after an earlier attempt does: late-command.
//   - The first party sent the command later: a race, unless entryGone has another cause.
//   - An acquire of another client sent the command and had already ended: late-command.
//   - An acquire of another client, or a reaper, removed a grant as stale: a takeover, whose cause tookOver or
//     takenOver finds.
//   - Another client sent any other command, late or not: foreign delete.
func (rp *endings) deletedBy(first *keyspace.Grant, end *keyspace.End) reason {
	c := rp.Commands[end.Cmd]
	cmds := []int{first.Cmd, end.Cmd}
	did := func(what account.What) account.Fact { return rp.deed(what, c.Client, end.Cmd, end.At.Lo, first) }
	_, isAcquire := rp.Acquired(c.Op)
	hasOp := rp.Has(c.Op)
	granted := rp.Operation(first.Op).Invoke
	if r, stale := rp.tookOver(first, end.Cmd); stale && c.Op < 0 {
		return r // a reaper sent the command
	}
	switch {
	case c.Client == first.Client && (hasOp && c.Op < granted.Index || !hasOp && c.Sent < first.At.Lo):
		return because(LateCommand, cmds, did(account.LateOwnRemoval))
	case c.Client == first.Client:
		if r, ok := rp.entryGone(first, end); ok {
			return r
		}
		return because(Race, cmds, did(account.OwnRemoval))
	case isAcquire && !rp.openAt(c.Op, end.At.Lo):
		return because(LateCommand, cmds, did(account.LateAttempt))
	case isAcquire && rp.Claims.ClientClock:
		return rp.takenOver(first, end.Cmd)
	}
	if r, stale := rp.tookOver(first, end.Cmd); stale && isAcquire {
		return r
	}
	if hasOp && !rp.openAt(c.Op, end.At.Lo) {
		return because(ForeignDelete, cmds, did(account.LateRemoval))
	}
	return because(ForeignDelete, cmds, did(account.RemovedKey))
}
