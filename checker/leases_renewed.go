package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// renewedLease identifies a lease on one node by the operation that acquired it.
type renewedLease struct {
	op   int
	node string
}

// renewals are the renewals of the trial, and the lease that each is for, unless an acquire or a release
// sent it. A renewal that names the value of a lease is for that lease. Any other renewal is for its
// sender's latest lease on a key that the renewal names.
type renewals struct {
	*places
	renewing []int                  // the places of all renewals: see findRenewals
	byLease  map[renewedLease][]int // places of the renewals, in the order of the log
	named    map[int]int            // by place of a renewal: the acquire whose value it names
	// first is the median time from a grant to its first renewal. next is the median time
	// between two renewals of a lease. Both are 0 if the trial shows none.
	first, next time.Duration
}

func renewalsOf(p *places) *renewals {
	rp := &renewals{places: p, byLease: map[renewedLease][]int{}, named: map[int]int{}}
	if rp.renewing = rp.findRenewals(); len(rp.renewing) > 0 {
		rp.assign()
		rp.first, rp.next = rp.pace()
	}
	return rp
}

// assign finds the lease of each renewal.
func (rp *renewals) assign() {
	byKey, byValue := map[senders][]*keyspace.Grant{}, map[senders][]*keyspace.Grant{}
	for _, g := range rp.Grants {
		byKey[senders{g.Client, g.Key}] = append(byKey[senders{g.Client, g.Key}], g)
		if g.Place == "" && g.Value != "" {
			byValue[senders{g.Client, g.Value}] = append(byValue[senders{g.Client, g.Value}], g)
		}
	}
	for _, pos := range rp.renewing {
		if c := rp.Commands[pos]; c.Op >= 0 && rp.Operation(c.Op).Invoke.F != history.FExtend {
			continue
		}
		g := rp.latestNamed(pos, byValue)
		if g != nil {
			rp.named[pos] = g.Op
		} else if g = rp.latestNamed(pos, byKey); g == nil {
			continue
		}
		of := renewedLease{g.Op, rp.Commands[pos].Node}
		rp.byLease[of] = append(rp.byLease[of], pos)
	}
}

// senders is a client together with a name in its commands: a key, or the value of a lease.
type senders struct {
	client int
	name   string
}

// latestNamed looks up the command's arguments among these grants. It returns the sender's
// latest grant on a key that the command reaches; nil if there is none.
func (rp *renewals) latestNamed(pos int, grants map[senders][]*keyspace.Grant) (latest *keyspace.Grant) {
	c := rp.Commands[pos]
	for _, arg := range c.Args[1:] {
		for _, g := range slices.Backward(grants[senders{c.Client, string(arg)}]) {
			if g.At.Lo <= c.Sent && g.WasOn(c.Node) && rp.Reaches(pos, g.Key) {
				if latest == nil || g.Seq > latest.Seq {
					latest = g
				}
				break
			}
		}
	}
	return latest
}

// ofAnother reports whether the renewal at place pos names a lease other than this grant's.
func (rp *renewals) ofAnother(pos int, g *keyspace.Grant) bool {
	op, named := rp.named[pos]
	return named && op != g.Op
}

// renewalWasDue reports whether the next renewal of the grant was due before that time, by
// the median interval at which clients renewed in this trial. It returns false if the trial
// shows no interval.
func (rp *renewals) renewalWasDue(g *keyspace.Grant, at time.Duration) bool {
	last, usual := rp.grantSent(g), rp.first
	for _, sent := range rp.renewedAt(renewedLease{g.Op, g.Node}) {
		if sent <= at {
			last, usual = sent, rp.next
		}
	}
	return usual > 0 && last+usual < at
}

// pace returns the medians that the fields first and next hold.
func (rp *renewals) pace() (first, next time.Duration) {
	var firsts, nexts []time.Duration
	for _, g := range rp.Grants {
		renewals := rp.renewedAt(renewedLease{g.Op, g.Node})
		for i, sent := range renewals {
			if i == 0 {
				firsts = append(firsts, sent-rp.grantSent(g))
			} else {
				nexts = append(nexts, sent-renewals[i-1])
			}
		}
	}
	return median(firsts), median(nexts)
}

// renewedAt returns the times at which the renewals of a lease were sent. It skips renewals
// that were answered with an error: another follows at once, as EVAL follows NOSCRIPT.
func (rp *renewals) renewedAt(lease renewedLease) (sent []time.Duration) {
	for _, pos := range rp.byLease[lease] {
		if c := rp.Commands[pos]; !c.Failed() {
			sent = append(sent, c.Sent)
		}
	}
	return sent
}

func median(of []time.Duration) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[(len(of)-1)/2]
}

func (rp *trial) grantSent(g *keyspace.Grant) time.Duration { return rp.sentAt(g.Cmd, g.At) }

// sentAt returns when the command at place pos was sent; the earliest time that when allows if pos is -1.
func (rp *trial) sentAt(pos int, when keyspace.When) time.Duration {
	if pos < 0 {
		return when.Lo
	}
	return rp.Commands[pos].Sent
}

// renewedInstead explains a lease that its owner never renewed: from the grant until due, the owner kept
// renewing other leases, which it had already released. There must be at least as many of these leases as
// the owner ever renewed at the same time. places are the places of their renewals. ok is false if the log
// does not show this.
func (rp *renewals) renewedInstead(g *keyspace.Grant, due time.Duration) (why account.Fact, places []int, ok bool) {
	all := rp.byLease
	if len(all[renewedLease{g.Op, g.Node}]) > 0 {
		return account.Fact{}, nil, false
	}
	leases := 0
	for of, renewals := range all {
		p, isAcquire := rp.Acquired(of.op)
		if !isAcquire || p.Invoke.Client != g.Client || of.node != g.Node || of.op == g.Op {
			continue
		}
		before := len(places)
		for _, pos := range renewals {
			if sent := rp.Commands[pos].Sent; rp.grantSent(g) < sent && sent < due && rp.releasedBefore(p, sent) {
				places = append(places, pos)
			}
		}
		if len(places) > before {
			leases++
		}
	}
	if leases == 0 || leases < rp.mostRenewed(g.Client, g.Node) {
		return account.Fact{}, nil, false
	}
	slices.Sort(places)
	bySent := func(a, b int) int { return cmp.Compare(rp.Commands[a].Sent, rp.Commands[b].Sent) }
	return account.Fact{
		What: account.RenewedInstead, Clients: []int{g.Client}, Key: g.Key, Count: leases,
		Read: rp.Commands[slices.MinFunc(places, bySent)].Sent, Until: rp.Commands[slices.MaxFunc(places, bySent)].Sent,
	}, places, true
}

// releasedBefore reports whether a release ended the hold of this acquire before that time.
func (rp *trial) releasedBefore(acquire *history.Pair, at time.Duration) bool {
	if acquire.Complete == nil {
		return false
	}
	i, held := rp.HoldOf[acquire.Complete.Index]
	return held && rp.Holds[i].ToWhy == account.ByRelease && rp.Holds[i].To < at
}

// mostRenewed returns the greatest number of leases on a node that the client renewed at the same
// time. A lease counts from its first renewal to its last.
func (rp *renewals) mostRenewed(client int, node string) int {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for of, renewals := range rp.byLease {
		if of.node == node && rp.Commands[renewals[0]].Client == client {
			changes = append(changes, change{rp.Commands[renewals[0]].Sent, 1}, change{rp.Commands[renewals[len(renewals)-1]].Sent, -1})
		}
	}
	// A lease whose first renewal coincides with another lease's last renewal overlaps that lease.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.by, a.by)) })
	most, now := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

// lastWriteAt returns the last time, no later than the given time and before the grant's end, at
// which the grant's owner changed the grant's key for this grant; 0 if it never did. The owner's
// releases and other acquires do not count. The change may be in another place of the key: a
// watchdog may write the time of its renewals there.
func (rp *ages) lastWriteAt(g *keyspace.Grant, before time.Duration) time.Duration {
	last, _ := rp.lastWrite(g, before)
	return last.at
}

// lastWrite returns the change whose time lastWriteAt returns.
func (rp *ages) lastWrite(g *keyspace.Grant, before time.Duration) (last keyWrite, found bool) {
	if g.End != nil {
		before = min(before, g.End.At.Lo-1)
	}
	for _, t := range rp.keyWrites[keyWriter{g.Key, g.Client}] {
		if t.at > before {
			break
		}
		if t.lost > before && (t.node == g.Node || g.Copied && t.at <= rp.copies[g]) && t.at >= g.At.Lo && rp.belongsTo(t, g) {
			last, found = *t, true
		}
	}
	return last, found
}

// belongsTo reports whether a change by the grant's owner belongs to the grant: it came from
// the grant's acquire, from an extension, or from no operation.
func (rp *ages) belongsTo(w *keyWrite, g *keyspace.Grant) bool {
	return w.op < 0 || w.op == g.Op || rp.Operation(w.op).Invoke.F == history.FExtend
}

// keyWriter identifies a key and a client that changed it.
type keyWriter struct {
	key    string
	client int
}

// keyWrite is one change of a key by a client: the node, the time, the place of the command
// in the log, and the operation, which is -1 for none. lost is the time at which a restart gave the key
// an older value back; Never = none did.
type keyWrite struct {
	node     string
	at, lost time.Duration
	cmd, op  int
}

// findKeyWrites returns, in order, the changes of each key by each client.
func (rp *ages) findKeyWrites() map[keyWriter][]*keyWrite {
	writes := map[keyWriter][]*keyWrite{}
	all := make([]keyWrite, len(rp.Steps)) // by step; empty if no command made it
	for i, s := range rp.Steps {
		k := &rp.Evidence.Keys[s.Change]
		if s.Cmd >= 0 {
			c := &rp.Commands[s.Cmd]
			by := keyWriter{string(k.Key), c.Client}
			all[i] = keyWrite{k.Node, s.At.Lo, Never, s.Cmd, c.Op}
			writes[by] = append(writes[by], &all[i])
			continue
		}
		for j := i - 1; j >= 0 && k.By == history.ByRestart && k.After != nil; j-- {
			was := &rp.Evidence.Keys[rp.Steps[j].Change]
			if rp.Steps[j].Cmd < 0 || was.Node != k.Node || was.Key != k.Key {
				continue
			}
			if was.After.SameValue(k.After) {
				break
			}
			all[j].lost = min(all[j].lost, s.At.Lo)
		}
	}
	return writes
}

// prolongedInVain explains a grant whose lease is over at that time only because the node lost, in a restart, the
// command with which the owner had prolonged it.
func (rp *endings) prolongedInVain(g *keyspace.Grant, at time.Duration) (reason, bool) {
	for _, w := range slices.Backward(rp.keyWrites[keyWriter{g.Key, g.Client}]) {
		if w.node == g.Node && g.At.Lo <= w.at && w.lost <= at && at-w.at < rp.Claims.TTL-termSlack && rp.belongsTo(w, g) {
			return because(ServerLostKey, []int{g.Cmd, w.cmd}, account.Fact{
				What: account.ExtensionLost, Nodes: []string{g.Node}, Clients: []int{g.Client}, Command: rp.call(w.cmd),
				At: w.at, Since: w.lost, Key: g.Key,
			}), true
		}
	}
	return reason{}, false
}

// gaveFirst reports whether the command at place pos gave the key of another client's grant its first TTL
// without taking anything from that grant. It is true if the key had no TTL before, and one of these is
// true:
//
//   - The owner gave the key another TTL before this one ended.
//   - This TTL lasts at least as long as the lease that the owner had asked for, or had prolonged by a
//     write to the key.
//
// gaveFirst returns false if the recipe claims no lease time or no recovery time, since such a lock may
// rely on keys without a TTL.
func (rp *ages) gaveFirst(g *keyspace.Grant, pos int) bool {
	p, isAcquire := rp.Acquired(g.Op)
	if !isAcquire || rp.Claims.TTL <= 0 || rp.Claims.Recovery <= 0 {
		return false
	}
	for i := 1; i < g.TermCount(); i++ {
		t := g.Term(i)
		if t.Cmd != pos || !t.Mortal || t.Event >= 0 {
			continue
		}
		if g.Term(i-1).Mortal || g.AnyTerm(func(earlier *keyspace.Term) bool { return earlier.Mortal && earlier.At.Hi < t.At.Lo }) {
			return false
		}
		asked := p.Invoke.Time
		for _, w := range rp.keyWrites[keyWriter{g.Key, g.Client}] {
			if w.node == g.Node && w.op != g.Op && g.At.Lo < w.at && w.at < min(t.Fair.Hi, rp.grantedUntil(g)) && rp.belongsTo(w, g) {
				asked = max(asked, w.at)
			}
		}
		if t.Fair.Hi >= asked+rp.Claims.TTL-termSlack {
			return true
		}
		for j := i + 1; j < g.TermCount(); j++ {
			if own := g.Term(j); own.Client == g.Client && own.At.Hi < t.Fair.Lo {
				return true
			}
		}
		return false
	}
	return false
}
