package checker

import (
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// neededKeys returns the keys in which every successful acquire of a lock, in that mode, has a
// grant. An attempt that has a grant in only some of them did not take the lock.
func (rp *replay) neededKeys() map[evidence.Owner]map[string]bool {
	needed := map[evidence.Owner]map[string]bool{}
	for i := range rp.Pairing.All {
		p := &rp.Pairing.All[i]
		if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire || p.Done() != history.OK {
			continue
		}
		all, at := rp.Of(p.Invoke.Index), evidence.Owner{Lock: p.Invoke.Lock, Mode: p.Invoke.Mode}
		if len(all) == 0 {
			continue // a re-entry may send nothing
		}
		keys := keysOf(all)
		if needed[at] == nil {
			needed[at] = keys
			continue
		}
		for key := range needed[at] {
			if !keys[key] {
				delete(needed[at], key)
			}
		}
	}
	return needed
}

func keysOf(grants []*keyspace.Grant) map[string]bool {
	keys := map[string]bool{}
	for _, g := range grants {
		keys[g.Key] = true
	}
	return keys
}

// grantDenied returns the grants of an acquire that answered that it did not get the lock,
// although its own commands had taken it.
//
// It counts only if the grants certainly stood when the acquire was answered, on a quorum of
// nodes, and if nobody else had anything there that could have refused the acquire. They must
// be all that a successful acquire of this lock sets: needed has the keys. It does not count
// if the client tried to take its grants back, or may have tried, or if Redis refused a
// repetition of the command whose reply was lost: then the answer is what Redis said.
func (rp *replay) grantDenied(p *history.Pair, needed map[string]bool) (told denial) {
	all := rp.Of(p.Invoke.Index)
	if len(all) == 0 || len(needed) == 0 && rp.Claims.KeyQuorum() <= 1 {
		return denial{}
	}
	if keys := keysOf(all); rp.Claims.KeyQuorum() <= 1 && !containsAll(keys, needed) {
		return denial{}
	}
	told.what = account.GrantDenied
	units := map[keyspace.NodeKey]bool{}
	for _, g := range all {
		if !rp.stoodWhenDenied(g, p) || rp.contested(g, p) || rp.refusedAgain(g, p) || rp.mayHaveTakenBack(g, p) {
			continue
		}
		units[rp.UnitOf(g.NodeKey())] = true
		told.grants, told.cmds = append(told.grants, g), append(told.cmds, g.Cmd)
	}
	if told.units = len(units); told.units < rp.Quorum() {
		return denial{}
	}
	return told
}

// stoodWhenDenied reports whether the acquire's own command made the grant, and the grant certainly
// stood when the acquire was answered, as a part of the lock and not beside it. A grant in
// which a later acquire of the client trusted was no more than its entry in a queue.
func (rp *replay) stoodWhenDenied(g *keyspace.Grant, p *history.Pair) bool {
	if g.Handed || g.Refused || g.Rested || g.Copied || g.Client != p.Invoke.Client || rp.keepsNobodyOut(g) || rp.waitingKeys()[g.Key] {
		return false
	}
	if _, untold := rp.untold().of(g); untold || g.Over != nil && g.Over.Rested {
		return false
	}
	at := p.Complete.Time
	t := g.TermAt(at)
	return g.At.Hi <= at && g.Until() > at && !(t.Mortal && t.Expiry.Lo <= at) && rp.keptFrom(g, p)
}

// contested reports whether anything else stood in a key of the lock on that node, from the
// acquire's first command there until its answer, that may have refused the acquire.
func (rp *replay) contested(g *keyspace.Grant, p *history.Pair) bool {
	from := g.At.Lo
	for _, pos := range rp.sentBy(p.Invoke.Index) {
		if rp.Commands[pos].Node == g.Node && rp.Commands[pos].Exec > 0 {
			from = min(from, rp.Ran(pos).Lo)
		}
	}
	keys := rp.Holding(g.Lock)
	others := map[int]bool{}
	for _, o := range rp.Grants {
		if o.Op == g.Op && !o.Handed || o.Node != g.Node || !slices.Contains(keys, o.Key) || rp.keepsNobodyOut(o) || compatible(o.Mode, g.Mode) {
			continue
		}
		if o.At.Lo > p.Complete.Time || o.End != nil && o.End.At.Hi < from {
			continue
		}
		others[o.Client] = true
	}
	return len(others) >= evidence.Permits(rp.Claims) || others[g.Client] || others[keyspace.Stranger]
}

// refusedAgain reports whether the client did not hear the reply to the command that made the
// grant, but heard the reply to a repetition.
func (rp *replay) refusedAgain(g *keyspace.Grant, p *history.Pair) bool {
	return !rp.heard(g.Cmd, p) && slices.ContainsFunc(rp.sentBy(g.Op), func(pos int) bool {
		return pos != g.Cmd && rp.Commands[pos].Sent >= rp.Commands[g.Cmd].Sent && repeats(rp.Commands[pos], rp.Commands[g.Cmd]) && rp.heard(pos, p)
	})
}

// mayHaveTakenBack reports whether the client tried to remove the grant, in the acquire or
// after it. The client must have sent something to the node after its answer, since it may
// take a grant back in the background.
//
// On several nodes it may also have tried on a connection that was never made, and that counts
// too: there the client's own count decides. On one node, who could not take a grant back
// knows that.
func (rp *replay) mayHaveTakenBack(g *keyspace.Grant, p *history.Pair) bool {
	made, next := rp.Commands[g.Cmd], -1
	for pos, c := range rp.Commands {
		if c.Client != made.Client || c.Node != made.Node || c.Sent <= made.Sent {
			continue
		}
		if c.Sent < g.Until() && rp.Reaches(pos, g.Key) && !rp.asksAgain(pos, g) {
			return true
		}
		if next < 0 && c.Sent > p.Complete.Time && !shakes[rp.bare(pos)] {
			next = pos
		}
	}
	return next < 0 || rp.Claims.NodeQuorum() > 1 && rp.dialledUnseen(g, next)
}

// dialledUnseen reports whether the client may have dialled the node between the grant and its
// command at place next without sending anything.
//
// Connections are numbered as they are dialled. So each number up to that of the command must
// be one over which the client sent something, or none was needed: the connection of the
// command is an older one that was idle meanwhile.
func (rp *replay) dialledUnseen(g *keyspace.Grant, next int) bool {
	made, last := rp.Commands[g.Cmd], rp.Commands[next]
	dialled := made.Conn
	used, busy := map[int]bool{}, map[int]bool{}
	for pos, c := range rp.Commands {
		if c.Client != made.Client || c.Node != made.Node || c.Sent > last.Sent {
			continue
		}
		if c.Sent <= made.Sent {
			dialled = max(dialled, c.Conn)
		}
		used[c.Conn] = used[c.Conn] || !shakes[rp.bare(pos)]
		busy[c.Conn] = busy[c.Conn] || pos != next && (c.Replied == 0 || c.Replied > made.Sent)
	}
	for conn := dialled + 1; conn <= last.Conn; conn++ {
		if !used[conn] {
			return true
		}
	}
	return last.Conn <= dialled && last.Conn != made.Conn && busy[last.Conn]
}

// shakes are commands with which clients begin to use a connection, before their own commands.
var shakes = map[string]bool{"HELLO": true, "AUTH": true, "SELECT": true, "CLIENT": true, "PING": true, "READONLY": true, "COMMAND": true, "CLUSTER": true}

// asksAgain reports whether the command at place pos certainly removes no grant: it reads, or
// sets an expiry, or it is of the kind of the command that made the grant, and no command of
// that kind ever removed one.
func (rp *replay) asksAgain(pos int, g *keyspace.Grant) bool {
	if harmless[rp.name(pos)] {
		return true
	}
	if !rp.alike(pos, g.Cmd) {
		return false
	}
	return !slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		return o.End != nil && o.End.Cmd >= 0 && rp.alike(o.End.Cmd, g.Cmd)
	})
}

// harmless are commands that remove nothing from a key.
var harmless = map[string]bool{
	"GET": true, "MGET": true, "STRLEN": true, "EXISTS": true, "TYPE": true, "TTL": true, "PTTL": true, "EXPIRETIME": true, "PEXPIRETIME": true,
	"HGET": true, "HMGET": true, "HGETALL": true, "HEXISTS": true, "HLEN": true, "HKEYS": true, "HVALS": true,
	"SISMEMBER": true, "SMEMBERS": true, "SCARD": true, "LRANGE": true, "LINDEX": true, "LLEN": true, "LPOS": true,
	"ZSCORE": true, "ZRANK": true, "ZRANGE": true, "ZCARD": true, "ZCOUNT": true,
	"EXPIRE": true, "PEXPIRE": true, "EXPIREAT": true, "PEXPIREAT": true, "PERSIST": true, "WATCH": true, "WAIT": true,
}

// alike reports whether two commands have the same name and, if they are scripts, the same
// source.
func (rp *replay) alike(a, b int) bool {
	shaA, scriptA := rp.Commands[a].Script()
	shaB, scriptB := rp.Commands[b].Script()
	if scriptA || scriptB {
		return scriptA && scriptB && shaA == shaB
	}
	return rp.bare(a) == rp.bare(b)
}

// bare returns the name of a command, in capitals.
func (rp *replay) bare(pos int) string {
	if args := rp.Commands[pos].Args; len(args) > 0 {
		return strings.ToUpper(string(args[0]))
	}
	return ""
}

// keptFrom reports whether no event came between the grant and the answer after which a node
// may lack what it had, or nobody may see it.
func (rp *replay) keptFrom(g *keyspace.Grant, p *history.Pair) bool {
	return !slices.ContainsFunc(rp.Ops, func(op history.Op) bool {
		return g.At.Lo <= op.Time && op.Time <= p.Complete.Time && op.EventKind().Keys != history.KeysKept
	})
}
