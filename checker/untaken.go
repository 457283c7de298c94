package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file explains waits for a lock that is free: no key of it stands on any node, and
// nobody takes it.

// oftenEnough is how many commands each client has to send in vain to take a free lock, so that
// a single one that came at the wrong moment explains nothing.
const oftenEnough = 3

// untaken completes a finding about clients that never got into a lock although nothing stood
// in their way for at least the turn of every client, or for the recovery time if they went on
// asking: nobody believed to hold it, no node had a key of it, no command of theirs changed a
// key, and Redis answered all that they asked. Somebody must have got the lock in the trial. ok
// is false if any of that is not so or was not seen.
func (rp *replay) untaken(f Finding, waits []wait, turn time.Duration) (found Finding, ok bool) {
	from, until := time.Duration(0), Never
	for _, x := range waits {
		from, until = max(from, x.from), min(until, x.until)
	}
	if rp.groundless(false).What != "" {
		return f, false // that no key stands somewhere does not say that the lock is free
	}
	if !slices.ContainsFunc(rp.Pairing.All, func(p history.Pair) bool {
		return p.Invoke.F == history.FAcquire && p.Invoke.Lock == f.Lock && p.Done() == history.OK
	}) {
		return f, false // nothing shows that anybody ever could get it: it may be set up wrongly
	}
	from, ok = rp.freeSince(f, from, until)
	if !ok {
		return f, false
	}
	asked, ok := rp.askedInVain(f, from, until)
	if rp.eachAskedOften(f.Clients, asked) {
		turn = rp.Claims.Recovery // nobody holds it, so that nobody has to come first
	}
	if !ok || until-from < turn {
		return f, false
	}
	told := account.Fact{What: account.LeftFree, Clients: f.Clients, Locks: []string{f.Lock}, At: from, Span: (until - from).Round(time.Millisecond)}
	why := account.Fact{What: account.NothingAsked, Clients: f.Clients, Count: len(asked)}
	if len(asked) > 0 {
		last := asked[len(asked)-1]
		why.What, why.Command, why.Nodes = account.AskedInVain, rp.call(last), []string{rp.Commands[last].Node}
		if strings.HasPrefix(string(rp.Commands[last].Reply), noScript+" ") {
			why.What = account.ScriptForgotten
		}
		f.Commands = rp.indexOf(last)
	}
	f.From, f.Cause, f.Forever = from, LeftFree, true
	f.Account = account.Account{Fact: told, Reasons: []account.Fact{why}}
	return f, true
}

// Redis' error code for a script that it does not have.
const noScript = "NOSCRIPT"

// unable lists how errors begin that tell of the node's state or configuration: with these
// nobody can take a lock there, whatever its commands are.
var unable = []string{
	"ASK ", "BUSY ", "CLUSTERDOWN ", "ERR unknown command", "LOADING ", "MASTERDOWN ", "MISCONF ", "MOVED ", "NOAUTH ", "NOPERM ",
	"NOREPLICAS ", "OOM ", "READONLY ", "TRYAGAIN ",
}

// unableTo reports whether the reply tells that the node is unable to serve the command, or a
// command of the script that it ran. Redis before version 7 puts the error of such a command
// into one of its own.
func unableTo(reply string) bool {
	inScript := strings.HasPrefix(reply, "ERR ")
	return slices.ContainsFunc(unable, func(code string) bool {
		return strings.HasPrefix(reply, code) || inScript && strings.Contains(reply, ": -"+code)
	}) || inScript && strings.Contains(reply, "Unknown Redis command called from ")
}

// eachAskedOften reports whether each of the clients sent often enough of these commands.
func (rp *replay) eachAskedOften(clients, asked []int) bool {
	count := map[int]int{}
	for _, pos := range asked {
		count[rp.Commands[pos].Client]++
	}
	return !slices.ContainsFunc(clients, func(client int) bool { return count[client] < oftenEnough })
}

// freeSince returns from when on, at or after from, the lock was free until that time: nobody
// believed to hold it, and no node had a key that might be of it. ok is false if there is no
// such time, or not everything was seen.
func (rp *replay) freeSince(f Finding, from, until time.Duration) (since time.Duration, ok bool) {
	if !rp.Evidence.Watched || len(rp.Unseen) > 0 {
		return 0, false
	}
	since = from
	for _, h := range rp.Holds {
		if h.Lock == f.Lock && h.From < until {
			since = max(since, h.To)
		}
	}
	foreign := rp.foreignKeys(f, from, until)
	keepsOut := func(node, key string) bool { return !foreign[key] && !rp.harmless(node, key) }
	examined := rp.postMortems(from)
	for node, op := range examined {
		if slices.ContainsFunc(op.Keys, func(k history.KeyState) bool { return keepsOut(node, k.Key) }) {
			return 0, false
		}
	}
	later := map[keyspace.NodeKey]bool{}
	for _, c := range rp.Evidence.Keys {
		if _, up := examined[c.Node]; !up || !keepsOut(c.Node, string(c.Key)) {
			continue
		}
		at := keyspace.NodeKey{Node: c.Node, Key: string(c.Key)}
		switch {
		case c.From < until:
			since = max(since, c.To)
		case !later[at] && c.Before != nil:
			return 0, false // it stood there until then, and went before the post-mortem
		default:
			later[at] = true
		}
	}
	return since, since < until && len(examined) > 0
}

// foreignKeys returns the keys that carry grants of other locks and none of the finding's, and
// that its clients left alone in that time but for what they did with other locks. A key that
// they look at may keep them out, whatever lock it is of.
func (rp *replay) foreignKeys(f Finding, from, until time.Duration) map[string]bool {
	foreign := map[string]bool{}
	for _, g := range rp.Grants {
		if g.Key != f.Lock && !slices.Contains(rp.Holding(f.Lock), g.Key) {
			foreign[g.Key] = true
		}
	}
	for pos, c := range rp.Commands {
		elsewhere := rp.Has(c.Op) && rp.Operation(c.Op).Invoke.Lock != f.Lock
		if elsewhere || c.Sent < from || c.Sent >= until || !slices.Contains(f.Clients, c.Client) {
			continue
		}
		for key := range foreign {
			if rp.Reaches(pos, key) {
				delete(foreign, key)
			}
		}
	}
	return foreign
}

// askedInVain returns the places of the commands that the clients of the finding sent in that
// time to acquire its lock. ok is false if one of them got no reply, changed a key, or came to
// a node that was unable to serve it.
func (rp *replay) askedInVain(f Finding, from, until time.Duration) (asked []int, ok bool) {
	for pos, c := range rp.Commands {
		p, acquiring := rp.Acquired(c.Op)
		if !acquiring || p.Invoke.Lock != f.Lock || !slices.Contains(f.Clients, c.Client) || c.Sent < from || c.Sent >= until {
			continue
		}
		if c.Replied == 0 || len(rp.Effects[pos]) > 0 || unableTo(string(c.Reply)) {
			return nil, false
		}
		asked = append(asked, pos)
	}
	return asked, true
}
