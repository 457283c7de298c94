package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// unrenewed explains why the renewals of the owner's watchdog did not keep the first grant alive; last is
// the grant's last term. It returns false if the watchdog is not to blame: the owner's hold is unknown, the
// owner learnt of its grant too late, or the owner was frozen when a renewal was due.
func (rp *renewals) unrenewed(first *keyspace.Grant, last keyspace.Term) (reason, bool) {
	due := first.End.At
	if last.Moved < 0 && due.Hi < last.Fair.Lo { // a jump of the node's clock ended the term early
		due = last.Fair
	}
	if h := rp.hold(first); h == nil || h.From >= due.Lo {
		return reason{}, false
	}
	cmds := []int{first.Cmd, last.Cmd}
	failed := func(what account.What, renewals ...int) (reason, bool) {
		why := account.Fact{
			What: what, Clients: []int{first.Client}, Nodes: []string{first.Node}, Key: first.Key,
			Since: last.At.Lo, At: first.End.At.Mid(),
		}
		if len(renewals) > 0 {
			why.Command = rp.call(renewals[0])
		}
		return because(RenewalFailed, append(cmds, renewals...), why), true
	}
	var tardy []int
	for _, pos := range rp.renewing {
		c := rp.Commands[pos]
		if c.Client != first.Client || !first.WasOn(c.Node) || c.Op == first.Op ||
			c.Sent < rp.sentAt(last.Cmd, last.At) || c.Sent > due.Hi || !rp.renews(pos, first) || rp.ofAnother(pos, first) {
			continue
		}
		switch {
		case c.Arrived == 0 && c.Exec == 0 && c.Replied == 0:
			return failed(account.RenewalNotArrived, pos)
		case c.Arrived > due.Lo || c.Replied > due.Lo:
			tardy = append(tardy, pos)
		case c.Replied == 0:
			return failed(account.RenewalNoAnswer, pos)
		case len(rp.Effects[pos]) == 0 && !stoodAt(first, rp.Ran(pos).Lo):
			return failed(account.RenewalRefused, pos)
		}
	}
	switch {
	case rp.frozen(first.Client, last.At.Hi, due.Lo):
		return reason{}, false
	case len(tardy) > 0:
		return failed(account.RenewalTardy, tardy...)
	}
	if why, instead, ok := rp.renewedInstead(first, due.Lo); ok {
		why.At = first.End.At.Mid()
		return because(RenewalFailed, append(cmds, instead...), why), true
	}
	left := rp.leftMeanwhile(first, last.At.Hi, due.Lo)
	if left != nil && !rp.renewalWasDue(first, left.Time) && !rp.renewedAgain(first, left.Time) {
		return because(RenewalFailed, cmds, account.Fact{
			What: account.RenewalStopped, Clients: []int{first.Client}, Locks: []string{left.Lock}, Key: first.Key, Since: left.Time, At: first.End.At.Mid(),
		}), true
	}
	return failed(account.RenewalMissing)
}

// leftMeanwhile returns the invocation of the first release of another lock by the grant's owner in
// the interval (since, until); nil if there is none.
func (rp *renewals) leftMeanwhile(g *keyspace.Grant, since, until time.Duration) *history.Op {
	for i := range rp.Ops {
		op := &rp.Ops[i]
		if op.F == history.FRelease && op.Type == history.Invoke && op.Client == g.Client && op.Lock != g.Lock && since < op.Time && op.Time < until {
			return op
		}
	}
	return nil
}

// renewedAgain reports whether the grant's owner sent another renewal, late or not, after the time
// since and before the end of the owner's hold.
func (rp *renewals) renewedAgain(g *keyspace.Grant, since time.Duration) bool {
	until := rp.hold(g).To
	return slices.ContainsFunc(rp.renewing, func(pos int) bool {
		c := rp.Commands[pos]
		return c.Op != g.Op && since < c.Sent && c.Sent < until && rp.renews(pos, g) && !rp.ofAnother(pos, g)
	})
}

// stoodAt reports whether the grant was there at that time, overwritten or not.
func stoodAt(g *keyspace.Grant, at time.Duration) bool {
	return g.At.Lo <= at && (g.End == nil || at < g.End.At.Lo)
}

// findRenewals returns the places of the commands that only prolong a key's TTL, whether they arrived or not:
//
//   - EXPIRE and the like;
//   - other commands that were seen to set a TTL and nothing else;
//   - scripts that set a TTL in some run, and never changed anything else. In extensions and outside of
//     operations, a script need not even have set a TTL.
func (rp *renewals) findRenewals() (all []int) {
	does := rp.scriptDeeds()
	for pos, c := range rp.Commands {
		if len(c.Args) < 2 {
			continue
		}
		d := deeds{prolongs: resp.Of(c.Args).Is(resp.Expires)}
		if sha, ok := c.Script(); ok {
			d = does[sha]
			kept := c.Op < 0 || rp.Operation(c.Op).Invoke.F == history.FExtend
			d.prolongs = d.prolongs || kept
		} else if !d.prolongs {
			d = rp.deedsOf(pos)
		}
		if d.prolongs && !d.more {
			all = append(all, pos)
		}
	}
	return all
}

// deeds are the observed effects of a command on keys.
type deeds struct {
	prolongs bool // the command wrote a key but did not change its value: it renewed the TTL
	more     bool // the command changed a key's value
}

func (rp *renewals) deedsOf(pos int) (d deeds) {
	for _, i := range rp.Effects[pos] {
		c := rp.Evidence.Keys[i]
		same := c.Before.SameValue(c.After)
		d.prolongs, d.more = d.prolongs || same, d.more || !same
	}
	return d
}

// scriptDeeds returns the deeds of all scripts in the trial, by SHA-1.
func (rp *renewals) scriptDeeds() map[string]deeds {
	all := map[string]deeds{}
	for pos, c := range rp.Commands {
		if sha, ok := c.Script(); ok {
			d, was := rp.deedsOf(pos), all[sha]
			all[sha] = deeds{d.prolongs || was.prolongs, d.more || was.more}
		}
	}
	return all
}

// renews reports whether the renewal at place pos renews this grant: the grant's owner
// sent it for the grant's key.
func (rp *renewals) renews(pos int, g *keyspace.Grant) bool {
	return rp.Reaches(pos, g.Key) && rp.Commands[pos].Client == g.Client
}
