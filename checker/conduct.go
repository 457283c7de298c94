package checker

import (
	"context"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// breakdowns has the cause and the kind of fact for each event by which the code under test breaks down and
// so ends the trial.
var breakdowns = map[string]struct {
	cause Cause
	what  account.What
}{
	history.FDeadlock: {Deadlock, account.AllWaited},
	history.FPanic:    {Panic, account.Panicked},
	history.FRunaway:  {Runaway, account.DidNotStop},
}

// conduct decides whether the code under test finished without a deadlock, panic or runaway, and
// gave no false answers. A lock is blamed for a false answer only if the evidence proves it.
func conduct(_ context.Context, f *Case) Verdict {
	findings := (&denials{f.known()}).falseAnswers()
	if op, broke := brokeDown(f.Ops); broke {
		findings = append(findings, brokenOff(op))
	}
	switch {
	case len(findings) > maxFindings:
		return Verdict{Result: Violated, Findings: findings[len(findings)-maxFindings:],
			Reasons: []account.Fact{{What: account.SomeListed, Count: maxFindings, Of: len(findings)}}}
	case len(findings) > 0:
		return Verdict{Result: Violated, Findings: findings}
	}
	return Verdict{Result: Held}
}

// brokenOff returns the finding about the event by which the code under test ended the trial.
func brokenOff(op history.Op) Finding {
	b := breakdowns[op.F]
	finding := Finding{
		Cause: b.cause, From: op.Time, To: op.Time, Ops: []int{op.Index},
		Account: account.Account{Fact: account.Fact{What: b.what, At: op.Time, Text: op.Error}},
	}
	if op.Client >= 0 {
		finding.Clients = []int{op.Client}
		finding.Account.Clients = finding.Clients
	}
	return finding
}

// brokeDown returns the first event of a breakdown. After a breakdown, missing events prove
// nothing, because the trial ended before they could happen.
func brokeDown(ops []history.Op) (history.Op, bool) {
	for _, op := range ops {
		if op.EventKind().Breakdown {
			return op, true
		}
	}
	return history.Op{}, false
}

// A completion with fail says that nothing happened. It is a false answer if commands of the same
// operation certainly did what the client had asked for. The honest completion is ok, or info if
// the client cannot know. The ok of an acquire is a false answer if Redis refused the acquire. Where
// the evidence is not certain, there is no finding.

// denials finds completions that deny what their operations did.
type denials struct{ *premises }

// falseAnswers returns findings about the operations that were completed with fail although they had
// taken effect, or with ok although Redis had refused them, in order of time.
func (rp *denials) falseAnswers() (findings []Finding) {
	if _, blind := rp.Blind(); blind {
		return nil
	}
	ended := map[int]*Hold{} // holds, by the index of the release that ended them
	for i := range rp.Holds {
		if h := &rp.Holds[i]; h.ToWhy == account.ByRelease {
			ended[h.End] = h
		}
	}
	needed := rp.neededKeys()
	for i := range rp.Pairing.All {
		p := &rp.Pairing.All[i]
		pos, refused := rp.Refused[p.Invoke.Index]
		if p.Invoke.Process == history.Nemesis || p.Complete == nil || p.Complete.Type != history.Fail && !refused {
			continue
		}
		var denied deniedEffects
		switch h := ended[p.Invoke.Index]; {
		case refused:
			denied.what, denied.cmds = account.GrantClaimed, []int{pos}
			denied.grants = []*keyspace.Grant{rp.refusedGrant(pos)}
		case p.Invoke.F == history.FAcquire:
			denied = rp.grantDenied(p, needed[evidence.Owner{Lock: p.Invoke.Lock, Mode: p.Invoke.Mode}])
		case h != nil:
			denied = rp.removalDenied(p, h)
		}
		if len(denied.grants) > 0 {
			findings = append(findings, rp.falseAnswer(p, denied))
		}
	}
	slices.SortStableFunc(findings, byFrom)
	return findings
}

// deniedEffects describes effects of an operation that the operation's completion denies. Without
// grants there is no denial.
type deniedEffects struct {
	what   account.What
	grants []*keyspace.Grant // the grants that were made or removed
	cmds   []int             // the commands that made or removed the grants, in the order of grants
	units  int               // the number of quorum units that the grants make up
	ops    []int             // other operations that the finding rests on
}

func (rp *denials) falseAnswer(p *history.Pair, denied deniedEffects) Finding {
	first, cmd := denied.grants[0], denied.cmds[0]
	at := rp.Ran(cmd).Lo
	f := Finding{
		Cause: FalseAnswer, Lock: p.Invoke.Lock, Clients: []int{p.Invoke.Client}, From: at, To: p.Complete.Time,
		Ops: rp.entries(append(denied.ops, p.Invoke.Index)...), Commands: rp.indexOf(denied.cmds...),
	}
	f.Account = account.Account{
		Fact: account.Fact{
			What: denied.what, Clients: f.Clients, Nodes: []string{first.Node}, Key: first.Key, Command: rp.call(cmd),
			At: p.Complete.Time, Since: at,
		},
		Operations: []account.Operation{operated(p)},
		Grants:     rp.grants(denied.grants...),
	}
	if rp.Claims.NodeQuorum() > 1 {
		f.Account.Count, f.Account.Of = denied.units, rp.units
	}
	switch {
	case denied.what == account.GrantClaimed:
		f.Account.Grants, f.Account.Reasons = nil, []account.Fact{rp.refusal(cmd)}
	case p.Invoke.F == history.FAcquire && !rp.heard(cmd, p):
		f.Account.Reasons = []account.Fact{{What: account.GrantUnheard, Clients: f.Clients, Command: rp.call(cmd)}}
	}
	return f
}

// heard reports whether the operation heard the reply to its command at place pos, and that reply
// was no error. A reply that came after the client repeated the command does not count: by then the
// client had given up the command.
func (rp *trial) heard(pos int, p *history.Pair) bool {
	c := rp.Commands[pos]
	if c.Op != p.Invoke.Index || !c.Ran() || c.Replied == 0 || c.Replied > p.Complete.Time || c.Reply == "" || c.Failed() {
		return false
	}
	return !slices.ContainsFunc(rp.SentBy(c.Op), func(other int) bool {
		o := rp.Commands[other]
		return other != pos && c.Sent < o.Sent && o.Sent < c.Replied && repeats(o, c)
	})
}

// repeats reports whether two commands are the same command of one client to one node. A script is
// the same whether its source or its digest is sent.
func repeats(a, b history.Command) bool {
	if a.Client != b.Client || a.Node != b.Node {
		return false
	}
	shaA, scriptA := a.Script()
	shaB, scriptB := b.Script()
	if scriptA && scriptB && shaA == shaB {
		return slices.Equal(a.Args[2:], b.Args[2:])
	}
	return slices.Equal(a.Args, b.Args)
}

// removalDenied returns the grants that a release removed although it answered that its client did
// not hold the lock. h is the hold that the release ended.
//
// Such a denial counts only if all of these are true:
//
//   - The client rightly believed in its hold until the release. Nothing had ended the hold before,
//     and the lease that the client had asked for lasted until the answer.
//   - The release's own commands removed the grants, on a quorum of nodes.
//   - The client heard the replies to these commands. A client that repeats a removal after a lost
//     reply finds nothing, and cannot know better.
func (rp *denials) removalDenied(p *history.Pair, h *Hold) (denied deniedEffects) {
	denied.what = account.RemovalDenied
	removed, spoilt := map[keyspace.NodeKey]bool{}, map[keyspace.NodeKey]bool{}
	for _, ok := range append([]int{h.Acquire}, h.Nested...) {
		op, _ := rp.Invocation(ok)
		denied.ops = append(denied.ops, op)
		for _, g := range rp.ownOf(op) {
			unit := rp.UnitOf(g.NodeKey())
			_, indistinct := rp.indistinct(g)
			switch cmd, gone := rp.removedBy(g, p.Complete.Time); {
			case !gone:
			case cmd >= 0 && !indistinct && rp.heard(cmd, p) && rp.leased(h, g, p):
				removed[unit] = true
				denied.grants, denied.cmds = append(denied.grants, g), append(denied.cmds, cmd)
			default:
				spoilt[unit] = true
			}
		}
	}
	for unit := range removed {
		if !spoilt[unit] {
			denied.units++
		}
	}
	if denied.units < rp.Quorum() {
		return deniedEffects{}
	}
	return denied
}

// removedBy reports whether the grant was gone by the given time. It returns the command that
// removed the grant, or that handed the grant's place to another client. cmd is -1 if another client
// had overwritten the grant before, if something else ended the grant, or if the grant still stood.
func (rp *denials) removedBy(g *keyspace.Grant, by time.Duration) (cmd int, gone bool) {
	for o := g; o.Over != nil; o = o.Over {
		if o.Over.Client == g.Client {
			continue
		}
		if o.Over.At.Lo > by {
			break
		}
		if o.Over.Handed {
			return o.Over.Cmd, true
		}
		return -1, true
	}
	switch {
	case g.End == nil || g.End.At.Lo > by:
		return -1, false
	case g.End.How != keyspace.Deleted:
		return -1, true
	}
	return g.End.Cmd, true
}

// leased reports whether the lease that the client had asked for certainly lasted until the release
// was answered, by every clock that the lock may go by. The lock may count a lease as up to a tenth
// shorter than its TTL.
func (rp *denials) leased(h *Hold, g *keyspace.Grant, p *history.Pair) bool {
	until := time.Duration(0)
	ask := func(since time.Duration, lease history.Lease) {
		end := Never
		if rp.Claims.TTL > 0 {
			end = since + rp.Claims.TTL - rp.Claims.TTL/10
		}
		until = max(until, min(end, rp.Clocks[g.Client].Ends(lease, since)))
	}
	from, to := rp.Pairing.Of[rp.Pairing.Place(h.Acquire)], rp.Pairing.Of[rp.Pairing.Place(h.End)]
	for i := from; i < to; i++ {
		o := &rp.Pairing.All[i]
		if o.Invoke.Client != h.Client || o.Invoke.Process == history.Nemesis || o.Invoke.Lock != h.Lock || o.Done() != history.OK {
			continue
		}
		if o.Invoke.F == history.FAcquire || o.Invoke.F == history.FExtend {
			ask(o.Invoke.Time, o.Lease())
		}
	}
	for _, t := range g.Terms() {
		if t.Client == g.Client && t.Cmd >= 0 && rp.Commands[t.Cmd].Op < 0 && rp.Commands[t.Cmd].Replied > 0 && rp.Commands[t.Cmd].Replied < p.Invoke.Time {
			ask(rp.Commands[t.Cmd].Sent, history.Lease{})
		}
	}
	first := rp.Operation(g.Op).Invoke.Time
	return p.Complete.Time < until && !rp.Clocks[h.Client].SetIn(first, p.Complete.Time) && !rp.NodeClocks[g.Node].SetIn(first, p.Complete.Time)
}
