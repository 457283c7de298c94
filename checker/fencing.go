package checker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// fencedGrant is a successful acquire with the fencing token that it returned.
type fencedGrant struct {
	lock  string
	owner int
	fence int64
	// invoke and reply bound the time of the grant, as ranks: see rankGrants. If the keys show when
	// the node made the grant, both bounds are that instant. Otherwise they are the invocation and
	// the reply in the history.
	invoke, reply int
	made          time.Duration // the time of the grant on the node; 0 if unknown
	entry         *history.Pair
}

// heardBy returns the time of the reply to the grant if that reply came no later than the reply to
// the other grant, or if the node's time is unknown. Otherwise it returns the time at which the
// node made the grant.
func (g *fencedGrant) heardBy(other *fencedGrant) time.Duration {
	if replied := g.entry.Complete.Time; g.made == 0 || replied <= other.entry.Complete.Time {
		return replied
	}
	return g.made
}

// entries returns the indices of the invocation and the reply in the history.
func (g *fencedGrant) entries() []int { return []int{g.entry.Invoke.Index, g.entry.Complete.Index} }

// fencing decides whether fencing tokens do their work. It checks three rules:
//
//   - Of two grants of a lock, the later one has the greater fence. The order of the grants
//     on the node counts. If the keys do not show that order, a grant is later if it was
//     invoked after the reply to the other.
//   - Two owners never get the same fence. The owner of a reentrant lock may get its own
//     fence again.
//   - The guarded resource never accepts an older fence than one that it has seen.
//
// A sweep and porcupine both decide fencing, as they do exclusion. How long a grant was held does
// not matter.
func fencing(ctx context.Context, f *Case) (Verdict, error) {
	return fencingBy(ctx, f, sweepFences, linearizeFences)
}

func fencingBy(ctx context.Context, f *Case,
	first func(history.Claims, fences) []regress,
	second func(context.Context, history.Claims, fences) map[string]linear.Answer,
) (Verdict, error) {
	if !f.Claims.Fenced {
		return notApplicable(account.Fact{What: account.NotFenced}), nil
	}
	given, err := readFences(f)
	if err != nil {
		return impossible(err), nil
	}
	if len(given.grants) == 0 {
		return notApplicable(account.Fact{What: account.NothingAcquired}), nil
	}
	found := first(f.Claims, given)
	locks := map[string]bool{}
	for _, r := range found {
		locks[r.lock] = true
	}
	undecided, err := compare(locks, second(ctx, f.Claims, given))
	if err != nil {
		return unknown(account.Fact{What: account.CheckersDisagree, Text: err.Error()}), err
	}
	found = slices.DeleteFunc(found, func(r regress) bool { return slices.Contains(undecided, r.lock) })
	if len(found) == 0 && len(undecided) > 0 {
		return unknown(account.Fact{What: account.NotDecided, Locks: undecided}), nil
	}
	if why := given.unordered(f); len(found) == 0 && why.What != "" {
		return unknown(why), nil
	}
	var findings []Finding
	for _, r := range found {
		findings = append(findings, regressFinding(f, r))
	}
	return conclude(f, findings, false), nil
}

// fences holds the grants and resource operations of a history that carry fencing tokens,
// by lock.
type fences struct {
	grants  map[string][]fencedGrant    // in order of their earliest possible instants
	touches map[string][]evidence.Touch // by the order in which the resource saw them
}

func readFences(f *Case) (fences, error) {
	pairs := f.Pairs()
	given := fences{grants: map[string][]fencedGrant{}}
	for i := range pairs.All {
		p := &pairs.All[i]
		if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis || p.Done() != history.OK {
			continue
		}
		g := fencedGrant{
			lock: p.Invoke.Lock, owner: p.Invoke.Client, fence: p.Lease().Fence,
			entry: p,
		}
		given.grants[g.lock] = append(given.grants[g.lock], g)
	}
	rankGrants(f, given.grants)
	given.touches, _ = evidence.Sections(f.Evidence, pairs)
	return given, evidence.Ordered(given.touches)
}

// instant is a time. If two times are equal, tie decides which instant is earlier.
type instant struct {
	at  time.Duration
	tie int
}

func (a instant) compare(b instant) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.tie, b.tie))
}

// rankGrants ranks the bounds of all grants of a lock on one scale, and sorts the grants by their
// earlier bound.
func rankGrants(f *Case, byLock map[string][]fencedGrant) {
	rp := f.known()
	for _, grants := range byLock {
		bounds := make([][2]instant, len(grants))
		var all []instant
		for i, g := range grants {
			bounds[i] = rp.happened(g)
			all = append(all, bounds[i][0], bounds[i][1])
		}
		slices.SortFunc(all, instant.compare)
		all = slices.Compact(all)
		rank := func(x instant) int {
			i, _ := slices.BinarySearchFunc(all, x, instant.compare)
			return i
		}
		for i := range grants {
			grants[i].invoke, grants[i].reply = rank(bounds[i][0]), rank(bounds[i][1])
			if bounds[i][0] == bounds[i][1] {
				grants[i].made = bounds[i][0].at
			}
		}
		slices.SortStableFunc(grants, func(a, b fencedGrant) int { return cmp.Compare(a.invoke, b.invoke) })
	}
}

// happened returns bounds of the instant at which the acquire was granted. Both bounds are the time of the
// last grant that the acquire made before its reply, if one node grants the lock and the grant was seen.
// Only grants that keep others out count, so a fence counter does not. Otherwise the bounds are the
// acquire's invocation and completion.
func (rp *places) happened(g fencedGrant) [2]instant {
	p := g.entry
	var last *keyspace.Grant
	for _, x := range rp.Of(p.Invoke.Index) {
		late := x.At.Lo > p.Complete.Time // made by a command that ran after the answer, perhaps a repetition
		if !late && !rp.is(x, idle) && !x.Copied && (last == nil || x.Seq > last.Seq) {
			last = x
		}
	}
	if last == nil || rp.Claims.NodeQuorum() > 1 {
		return [2]instant{{p.Invoke.Time, p.Invoke.Index}, {p.Complete.Time, p.Complete.Index}}
	}
	at := instant{last.At.Lo, last.Seq}
	return [2]instant{at, at}
}

// unordered describes two concurrent grants whose order is unknown because it is unknown when the node made
// one of them. It returns the zero Fact if there are no such grants. It also returns the zero Fact if only
// invocations and completions can give the order, since no commands are on record or a grant needs several
// nodes.
func (given fences) unordered(f *Case) account.Fact {
	rp := f.known()
	if rp.Claims.NodeQuorum() > 1 || !rp.Touched() {
		return account.Fact{}
	}
	for _, lock := range slices.Sorted(maps.Keys(given.grants)) {
		grants := given.grants[lock]
		for i := range grants {
			g := &grants[i]
			op := g.entry.Invoke.Index
			if g.made != 0 || !rp.sentSomething(op) || rp.restsOnNothing(op) {
				continue
			}
			for j := range grants {
				if o := &grants[j]; o.owner != g.owner && o.invoke < g.reply && g.invoke < o.reply {
					return account.Fact{
						What: account.GrantTimeUnseen, Clients: []int{g.owner, o.owner}, Locks: []string{lock}, Values: []int64{g.fence, o.fence},
					}
				}
			}
		}
	}
	return account.Fact{}
}

// linearizeFences lets porcupine decide, per lock, whether fences regress.
func linearizeFences(ctx context.Context, c history.Claims, given fences) map[string]linear.Answer {
	grants, accepted := map[string][]linear.Grant{}, map[string][]linear.Acceptance{}
	for lock, all := range given.grants {
		for _, g := range all {
			grants[lock] = append(grants[lock], linear.Grant{Owner: g.owner, Fence: g.fence, Call: g.invoke, Return: g.reply})
		}
	}
	for lock, all := range given.touches {
		for _, t := range all {
			accepted[lock] = append(accepted[lock], linear.Acceptance{Owner: t.Op.Client, Fence: t.Fence()})
		}
	}
	return linear.CheckFences(ctx, c.Reentrant, grants, accepted)
}

// regress is a grant, or an operation on the resource, with a fence that is too small for
// its place in the order.
type regress struct {
	lock string
	// late is the grant whose fence is too small. newer is another grant, which began no later and has
	// the same or a greater fence; nil if late has no fence.
	late, newer *fencedGrant
	// accepted and seen are operations on the resource. The resource had seen the newer fence of
	// seen, so it should have refused accepted.
	accepted, seen *evidence.Touch
}

// sweepFences finds, in O(n log n), every grant whose fence regressed and every operation that the
// resource should have refused. It pairs each with an earlier grant or operation that proves the
// regress. A grant without a fence needs no such proof.
func sweepFences(c history.Claims, given fences) []regress {
	var found []regress
	for _, lock := range slices.Sorted(maps.Keys(given.grants)) {
		found = append(found, sweepGrants(c, given.grants[lock])...)
	}
	for _, lock := range slices.Sorted(maps.Keys(given.touches)) {
		var newest *evidence.Touch
		for i := range given.touches[lock] {
			t := &given.touches[lock][i]
			switch {
			case newest == nil || t.Fence() >= newest.Fence():
				newest = t
			default:
				found = append(found, regress{lock: lock, accepted: t, seen: newest})
			}
		}
	}
	return found
}

// sweepGrants goes through the grants of a lock in order. It compares the fence of each grant with
// the greatest fence among the grants that were answered before this grant was invoked, and with
// equal fences of other owners.
func sweepGrants(c history.Claims, grants []fencedGrant) []regress {
	answered := slices.Clone(grants)
	slices.SortFunc(answered, func(a, b fencedGrant) int { return cmp.Compare(a.reply, b.reply) })
	var found []regress
	var newest *fencedGrant
	next := 0
	firstOf := map[int64]*fencedGrant{}
	for i := range grants {
		g := &grants[i]
		for ; next < len(answered) && answered[next].reply < g.invoke; next++ {
			if newest == nil || answered[next].fence > newest.fence {
				newest = &answered[next]
			}
		}
		own := func(other *fencedGrant) bool { return c.Reentrant && other.owner == g.owner }
		first := firstOf[g.fence]
		switch {
		case g.fence <= 0:
			found = append(found, regress{lock: g.lock, late: g})
		case newest != nil && (g.fence < newest.fence || g.fence == newest.fence && !own(newest)):
			found = append(found, regress{lock: g.lock, late: g, newer: newest})
		case first != nil && !own(first):
			found = append(found, regress{lock: g.lock, late: g, newer: first})
		}
		if first == nil {
			firstOf[g.fence] = g
		}
	}
	return found
}

func regressFinding(f *Case, r regress) Finding {
	if r.accepted != nil {
		a, s := r.accepted, r.seen
		return Finding{
			Cause: FenceRegressed, Lock: r.lock, Clients: []int{a.Op.Client, s.Op.Client}, From: s.Op.Time, To: max(s.Op.Time, a.Op.Time),
			Ops: indices(a.Op.Index, s.Op.Index),
			Account: account.Account{
				Fact: account.Fact{
					What: account.OldFenceAccepted, Clients: []int{a.Op.Client, s.Op.Client}, At: a.Op.Time, Since: s.Op.Time,
					Values: []int64{a.Fence(), s.Fence()},
				},
				Operations: []account.Operation{touched(a.Op), touched(s.Op)},
			},
		}
	}
	g := r.late
	finding := Finding{
		Cause: FenceRegressed, Lock: r.lock, Clients: []int{g.owner}, From: g.entry.Invoke.Time, To: g.entry.Complete.Time,
		Ops: indices(g.entries()...),
	}
	if r.newer == nil {
		finding.Account.Fact = account.Fact{What: account.FenceMissing, Clients: finding.Clients, At: finding.To, Values: []int64{g.fence}}
		return finding
	}
	n := r.newer
	finding.Clients = append(finding.Clients, n.owner)
	finding.Ops = indices(append(finding.Ops, n.entries()...)...)
	finding.Account.Fact = account.Fact{
		What: account.FenceNotGreater, Clients: finding.Clients, At: finding.To, Since: n.heardBy(g), Values: []int64{g.fence, n.fence},
	}
	finding.Commands, finding.Account.Broken = f.known().counterLost(*n, *g)
	return finding
}
