package checker

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file explains waits for a free lock: no node has a key of the lock, and yet no
// client gets it.

// oftenEnough is the number of commands in vain for a free lock after which a client need not wait for
// its turn: see untaken. A single command that came at the wrong moment proves nothing.
const oftenEnough = 3

// untaken completes a finding about clients that never got a lock although it was free for long enough.
// A lock is free while no client believes that it holds the lock and no node has a key of the lock. ok is
// true if all of this was seen:
//
//   - The lock was free for at least the time turn, which is the recovery time plus a turn for every
//     client. If each client sent at least oftenEnough commands for the lock, the recovery time suffices.
//   - Every command for the lock that these clients sent in this time got a reply and changed no key, and
//     its node was able to serve it.
//   - Some client got the lock in the trial, and nothing suggests that the lock is kept elsewhere.
func (rp *blockages) untaken(f Finding, waits []wait, turn time.Duration) (found Finding, ok bool) {
	from, until := together(waits)
	if rp.groundless(false).What != "" {
		return f, false // the lock may be kept elsewhere, so that missing keys do not show that the lock is free
	}
	if !slices.ContainsFunc(rp.Pairing.All, func(p history.Pair) bool {
		return p.Invoke.F == history.FAcquire && p.Invoke.Lock == f.Lock && p.Done() == history.OK
	}) {
		return f, false // the lock may be set up wrongly, so that no client could ever get it
	}
	from, ok = rp.freeSince(f, from, until)
	if !ok {
		return f, false
	}
	asked, ok := rp.askedInVain(f, from, until)
	if rp.eachAskedOften(f.Clients, asked) {
		turn = rp.Claims.Recovery // no client holds the lock, so that nobody's turn comes first
	}
	if !ok || until-from < turn {
		return f, false
	}
	fact := account.Fact{What: account.LeftFree, Clients: f.Clients, Locks: []string{f.Lock}, At: from, Span: (until - from).Round(time.Millisecond)}
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
	var wrong *account.Assumption
	if len(asked) == 0 {
		wrong = rp.asleep(&f, &why, until)
	}
	f.Account = account.Account{Fact: fact, Reasons: []account.Fact{why}, Broken: wrong}
	return f, true
}

// together returns the time in which all of the clients waited.
func together(waits []wait) (from, until time.Duration) {
	from, until = 0, Never
	for _, x := range waits {
		from, until = max(from, x.from), min(until, x.until)
	}
	return from, until
}

// silent reports whether the finding's clients sent no command to take the lock while they waited, had none under way, such
// as a BLPOP, and were not told to wait for that long. Then they did not take it when it was free, whether or not others did.
func (rp *blockages) silent(f Finding, waits []wait) bool {
	from, until := together(waits)
	asked, ok := rp.askedInVain(f, from, until)
	underWay := slices.ContainsFunc(rp.Commands, func(c history.Command) bool {
		p, acquiring := rp.Acquired(c.Op)
		return acquiring && p.Invoke.Lock == f.Lock && slices.Contains(f.Clients, c.Client) && c.Sent < from && (c.Replied == 0 || c.Replied >= from)
	})
	_, _, told := rp.toldToWait(f, until)
	return ok && len(asked) == 0 && !underWay && !told
}

// asleep completes a finding about clients that sent nothing for a free lock, and its reason, if Redis told
// all of them to wait for longer. It returns the assumption that broke; nil if none is known.
func (rp *blockages) asleep(f *Finding, why *account.Fact, until time.Duration) (broken *account.Assumption) {
	if pos, life, ok := rp.toldToWait(*f, until); ok {
		why.What, why.Command, why.Nodes, why.Age = account.ToldToWait, rp.call(pos), []string{rp.Commands[pos].Node}, life
		f.Commands, f.Forever = rp.indexOf(pos), false
		if life > rp.Claims.TTL { // by a right clock, no key lives for longer than its lease
			broken = rp.clockJumped(rp.Commands[pos].Node, rp.Commands[pos].Replied)
		}
	}
	return broken
}

// toldToWait reports whether Redis told every waiting client a remaining life of a key in milliseconds, as PTTL
// and the scripts of D3 answer, or in seconds, as TTL answers, that ends only after the time until. Such clients may ask again when that life
// is over. It returns the place of one such command. Any other number, such as a ticket or a time, is no life.
func (rp *blockages) toldToWait(f Finding, until time.Duration) (pos int, life time.Duration, ok bool) {
	told := map[int]int{} // by client: its last command that was answered with a life
	for pos, c := range rp.Commands {
		p, acquiring := rp.Acquired(c.Op)
		if acquiring && p.Invoke.Lock == f.Lock && c.Sent < until && c.Replied > 0 && rp.lifeTold(pos) > 0 {
			told[c.Client] = pos
		}
	}
	for _, client := range f.Clients {
		at, was := told[client]
		if !was || rp.Commands[at].Replied+rp.lifeTold(at) <= until {
			return 0, 0, false // this client has no reason to sleep on
		}
		pos = at
	}
	return pos, rp.lifeTold(pos), len(f.Clients) > 0
}

// lifeTold returns the remaining life that the command was answered with: a positive number of milliseconds, or
// of seconds for TTL, that a key which the command reaches had left when the node served it; 0 for any other
// answer.
func (rp *blockages) lifeTold(pos int) time.Duration {
	c := rp.Commands[pos]
	unit, slack := time.Millisecond, termSlack
	if len(c.Args) > 0 && strings.EqualFold(string(c.Args[0]), "TTL") {
		unit, slack = time.Second, time.Second/2+termSlack // Redis rounds to the nearest second
	}
	n, err := strconv.ParseInt(string(c.Reply), 10, 64)
	if err != nil || n <= 0 || n > int64(Never/unit) {
		return 0
	}
	life := time.Duration(n) * unit
	for _, k := range rp.Evidence.Keys {
		if k.Node != c.Node || k.From > c.Served || k.After == nil || k.After.Expires == 0 || !rp.Reaches(pos, string(k.Key)) {
			continue
		}
		if end := k.After.Expires - life; c.Arrived-slack <= end && end <= c.Served+slack {
			return life
		}
	}
	return 0
}

// clockJumped returns the assumption that broke if the node's clock jumped before the time at: its last jump;
// nil if it did not.
func (rp *premises) clockJumped(node string, at time.Duration) (broken *account.Assumption) {
	jumps := rp.NodeClocks[node].Jumps(at)
	if len(jumps) == 0 {
		return nil
	}
	last := jumps[len(jumps)-1]
	return &account.Assumption{Premise: account.ClocksAgree, But: account.Fact{
		What: account.NodeClockJumped, Nodes: []string{node}, Offset: last.Ahead.Round(time.Millisecond), At: last.Since,
	}}
}

// noScript is Redis' error code for an unknown script.
const noScript = "NOSCRIPT"

// unable lists the prefixes of errors that report the node's state or configuration. While
// a node answers with these, no command can take a lock there.
var unable = []string{
	"ASK ", "BUSY ", "CLUSTERDOWN ", "ERR unknown command", "LOADING ", "MASTERDOWN ", "MISCONF ", "MOVED ", "NOAUTH ", "NOPERM ",
	"NOREPLICAS ", "OOM ", "READONLY ", "TRYAGAIN ",
}

// unableTo reports whether the reply means that the node is unable to serve the command, or
// a command inside its script. Before version 7, Redis wraps the error of a command inside
// a script in an error of its own.
func unableTo(reply string) bool {
	inScript := strings.HasPrefix(reply, "ERR ")
	return slices.ContainsFunc(unable, func(code string) bool {
		return strings.HasPrefix(reply, code) || inScript && strings.Contains(reply, ": -"+code)
	}) || inScript && strings.Contains(reply, "Unknown Redis command called from ")
}

// eachAskedOften reports whether each client sent at least oftenEnough of these commands.
func (rp *blockages) eachAskedOften(clients, asked []int) bool {
	count := map[int]int{}
	for _, pos := range asked {
		count[rp.Commands[pos].Client]++
	}
	return !slices.ContainsFunc(clients, func(client int) bool { return count[client] < oftenEnough })
}

// freeSince returns the time since which the lock was free, up to the end of the interval [from,
// until); it is never before the interval. The lock is free while no client believes that it holds
// the lock and no node has a key that may belong to the lock. ok is false if there is no such time,
// or if not everything was seen.
func (rp *blockages) freeSince(f Finding, from, until time.Duration) (since time.Duration, ok bool) {
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
	keepsOut := func(node, key string) bool { return !foreign[key] && !rp.keyKeepsNobodyOut(node, key) }
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
			return 0, false // the key still existed when the interval ended, and was removed only afterwards
		default:
			later[at] = true
		}
	}
	return since, since < until && len(examined) > 0
}

// foreignKeys returns the keys that carry grants of other locks only, and that the finding's clients did
// not reach in the interval [from, until), except in operations on other locks. A key that the clients look
// at may keep them out, whatever lock the key belongs to.
func (rp *blockages) foreignKeys(f Finding, from, until time.Duration) map[string]bool {
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

// askedInVain returns the places of the commands that the finding's clients sent in the interval [from,
// until) to acquire the finding's lock. ok is false if one of these commands got no reply, changed a key,
// or came to a node that was unable to serve it.
func (rp *blockages) askedInVain(f Finding, from, until time.Duration) (asked []int, ok bool) {
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
