package checker

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// neededKeys returns, for each lock and mode, the keys that every successful acquire has grants in.
// Acquires without any grant are left out. An attempt with a grant in only some of these keys did
// not take the lock.
func (rp *denials) neededKeys() map[evidence.Owner]map[string]bool {
	needed := map[evidence.Owner]map[string]bool{}
	for i := range rp.Pairing.All {
		p := &rp.Pairing.All[i]
		if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire || p.Done() != history.OK {
			continue
		}
		all, at := rp.Of(p.Invoke.Index), evidence.Owner{Lock: p.Invoke.Lock, Mode: p.Invoke.Mode}
		if len(all) == 0 {
			continue // a re-entry may send no command
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

// grantDenied returns the grants of an acquire that was answered with fail although its own commands had
// taken the lock.
//
// Such a denial counts only if all of these are true:
//
//   - The grants certainly stood on a quorum of nodes when the acquire was answered.
//   - No other grant can have refused the acquire: see contested.
//   - The grants cover all keys in needed, the keys that a successful acquire of this lock sets. A lock on
//     a quorum of keys need not meet this condition.
//   - The client certainly did not try to take its grants back.
//   - Redis did not refuse a repetition of the command after the first reply was lost. If Redis did, the
//     answer only repeats what Redis said.
func (rp *denials) grantDenied(p *history.Pair, needed map[string]bool) (denied deniedEffects) {
	all := rp.Of(p.Invoke.Index)
	if len(all) == 0 || len(needed) == 0 && rp.Claims.KeyQuorum() <= 1 {
		return deniedEffects{}
	}
	if keys := keysOf(all); rp.Claims.KeyQuorum() <= 1 && !containsAll(keys, needed) {
		return deniedEffects{}
	}
	denied.what = account.GrantDenied
	units := map[keyspace.NodeKey]bool{}
	for _, g := range all {
		if !rp.stoodWhenDenied(g, p) || rp.contested(g, p) || rp.refusedAgain(g, p) || rp.mayHaveTakenBack(g, p) {
			continue
		}
		units[rp.UnitOf(g.NodeKey())] = true
		denied.grants, denied.cmds = append(denied.grants, g), append(denied.cmds, g.Cmd)
	}
	if denied.units = len(units); denied.units < rp.Quorum() {
		return deniedEffects{}
	}
	return denied
}

// stoodWhenDenied reports whether the acquire's own command made the grant, and the grant certainly
// stood when the acquire was answered. A grant that keeps nobody out, that cannot be told from
// others, or that is an entry in a queue does not count. A grant is such an entry if a later
// operation relied on the grant's value.
func (rp *denials) stoodWhenDenied(g *keyspace.Grant, p *history.Pair) bool {
	if g.Handed || g.Refused || g.Rested || g.Copied || g.Client != p.Invoke.Client || rp.is(g, idle|waiting) {
		return false
	}
	if _, indistinct := rp.indistinct(g); indistinct || g.Over != nil && g.Over.Rested {
		return false
	}
	at := p.Complete.Time
	t := g.TermAt(at)
	return g.At.Hi <= at && g.Until() > at && !(t.Mortal && t.Expiry.Lo <= at) && rp.keptFrom(g, p)
}

// contested reports whether other grants may have refused the acquire: grants of as many clients as may
// hold the lock at a time, a grant that the acquire's client got by another operation, or a grant whose
// client is unknown. A grant counts if it stood in a key of the lock on g's node, at any time from the
// acquire's first command on that node until the acquire was answered.
func (rp *denials) contested(g *keyspace.Grant, p *history.Pair) bool {
	from := g.At.Lo
	for _, pos := range rp.SentBy(p.Invoke.Index) {
		if rp.Commands[pos].Node == g.Node && rp.Commands[pos].Exec > 0 {
			from = min(from, rp.Ran(pos).Lo)
		}
	}
	keys := rp.Holding(g.Lock)
	others := map[int]bool{}
	for _, o := range rp.Grants {
		if o.Op == g.Op && !o.Handed || o.Node != g.Node || !slices.Contains(keys, o.Key) || rp.is(o, idle) || compatible(o.Mode, g.Mode) {
			continue
		}
		if o.At.Lo > p.Complete.Time || o.End != nil && o.End.At.Hi < from {
			continue
		}
		others[o.Client] = true
	}
	return len(others) >= evidence.Permits(rp.Claims) || others[g.Client] || others[keyspace.Stranger]
}

// refusedAgain reports whether the client did not hear the reply to a command that made one of the
// acquire's grants on the grant's node, but heard the reply to a repetition of that command.
func (rp *denials) refusedAgain(g *keyspace.Grant, p *history.Pair) bool {
	return slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
		return o.Node == g.Node && !rp.heard(o.Cmd, p) && slices.ContainsFunc(rp.SentBy(g.Op), func(pos int) bool {
			return pos != o.Cmd && rp.Commands[pos].Sent >= rp.Commands[o.Cmd].Sent && repeats(rp.Commands[pos], rp.Commands[o.Cmd]) && rp.heard(pos, p)
		})
	})
}

// mayHaveTakenBack reports whether the client tried to remove the grant, or may have tried. It is false
// only if both of these are true:
//
//   - No command that the client sent to the node after the grant can have removed the grant.
//   - The client sent the node another command after the answer. Until then, the client may still remove
//     the grant in the background.
//
// If the lock needs a quorum of nodes, a removal that may have failed because the client could not connect
// counts as well: see dialledUnseen. Such a client counts only the nodes that granted, and need not know
// that its grant still stands on this node. With one node, the client knows that it could not take its
// grant back.
func (rp *denials) mayHaveTakenBack(g *keyspace.Grant, p *history.Pair) bool {
	made, next := rp.Commands[g.Cmd], -1
	for pos, c := range rp.Commands {
		if c.Client != made.Client || c.Node != made.Node || c.Sent <= made.Sent {
			continue
		}
		if c.Sent < g.Until() && rp.Reaches(pos, g.Key) && !rp.asksAgain(pos, g) {
			return true
		}
		if next < 0 && c.Sent > p.Complete.Time && !resp.Of(c.Args).Is(resp.Handshake) {
			next = pos
		}
	}
	return next < 0 || rp.Claims.NodeQuorum() > 1 && rp.dialledUnseen(g, next)
}

// dialledUnseen reports whether the client may have dialled the node, between the grant and the command at
// place next, without sending anything over the new connection. Connections are numbered in the order in
// which they are dialled. The result is true in two cases:
//
//   - The client sent nothing over some new connection, up to the command's connection.
//   - The command came over an older connection, other than the grant's, on which the client was waiting
//     for a reply after it sent the grant's command. So the client may have needed a new connection.
func (rp *denials) dialledUnseen(g *keyspace.Grant, next int) bool {
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
		used[c.Conn] = used[c.Conn] || !resp.Of(c.Args).Is(resp.Handshake)
		busy[c.Conn] = busy[c.Conn] || pos != next && (c.Replied == 0 || c.Replied > made.Sent)
	}
	for conn := dialled + 1; conn <= last.Conn; conn++ {
		if !used[conn] {
			return true
		}
	}
	return last.Conn <= dialled && last.Conn != made.Conn && busy[last.Conn]
}

// asksAgain reports whether the command at place pos certainly removes no grant. That is certain in two
// cases:
//
//   - The command changes no key, or only sets an expiry.
//   - The command is of the same kind as the command that made g, and no command of that kind ever removed
//     a grant.
func (rp *denials) asksAgain(pos int, g *keyspace.Grant) bool {
	if resp.Of(rp.Commands[pos].Args).Is(resp.ReadOnly|resp.Inert) || rp.prolongs(pos, g) {
		return true
	}
	if !rp.alike(pos, g.Cmd) || !onlyCreates(rp.Commands[pos].Args) && rp.mayOverwrite(pos, g) {
		return false
	}
	return !slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		return o.End != nil && o.End.Cmd >= 0 && rp.alike(o.End.Cmd, g.Cmd)
	})
}

// onlyCreates reports whether the command changes no key or field that exists.
func onlyCreates(args []history.Bytes) bool {
	return resp.Of(args).Is(resp.Creates) || resp.Name(args) == "SET" && variant(args) == "NX"
}

// mayOverwrite reports whether the command at place pos, which is like the one that made the grant, may have
// overwritten the grant: it changed keys, or nobody saw it run and it has other arguments.
func (rp *denials) mayOverwrite(pos int, g *keyspace.Grant) bool {
	c := &rp.Commands[pos]
	return len(rp.Effects[pos]) > 0 || !c.Ran() && !slices.Equal(c.Args, rp.Commands[g.Cmd].Args)
}

// prolongs reports whether the command sets a time to live that does not end the grant earlier, or leaves
// the time to live as it is. EXPIRE with a time that is not positive deletes the key (Redis, "EXPIRE"), and
// a very short time is as good as that.
func (rp *denials) prolongs(pos int, g *keyspace.Grant) bool {
	c := &rp.Commands[pos]
	life, ok := newLife(resp.Name(c.Args), c.Args)
	if !ok || life == unchangedLife {
		return ok
	}
	if t := g.TermAt(c.Sent); t.Mortal {
		return c.Sent+life >= t.Expiry.Lo
	}
	return rp.Claims.TTL > 0 && life >= rp.Claims.TTL
}

// unchangedLife is newLife's result for a command that leaves the key's time to live as it is, or that makes
// the key live for ever.
const unchangedLife = time.Duration(math.MaxInt64)

// newLife returns the time to live, above 0, that EXPIRE, PEXPIRE, GETEX or PERSIST sets, or unchangedLife. It
// returns false for other commands, for an expiry at a time of day (EXAT, PXAT), and for an argument that
// is not a positive number or is too large.
func newLife(name string, args []history.Bytes) (time.Duration, bool) {
	unit, n := time.Second, ""
	switch {
	case (name == "EXPIRE" || name == "PEXPIRE") && len(args) >= 3:
		n = string(args[2])
	case name == "PERSIST" || name == "GETEX" && len(args) == 2:
		return unchangedLife, true
	case name == "GETEX" && len(args) == 3 && strings.EqualFold(string(args[2]), "PERSIST"):
		return unchangedLife, true
	case name == "GETEX" && len(args) == 4:
		n = string(args[3])
		name = strings.ToUpper(string(args[2]))
	}
	switch name {
	case "PEXPIRE", "PX":
		unit = time.Millisecond
	case "EXPIRE", "EX":
	default:
		return 0, false
	}
	life, err := strconv.ParseInt(n, 10, 64)
	if err != nil || life <= 0 || life > math.MaxInt64/int64(unit)/2 {
		return 0, false
	}
	return time.Duration(life) * unit, true
}

// alike reports whether two commands do the same kind of thing: both run the same script, or neither runs a
// script and both have the same name and variant.
func (rp *denials) alike(a, b int) bool {
	shaA, scriptA := rp.Commands[a].Script()
	shaB, scriptB := rp.Commands[b].Script()
	if scriptA || scriptB {
		return scriptA && scriptB && shaA == shaB
	}
	return resp.Name(rp.Commands[a].Args) == resp.Name(rp.Commands[b].Args) && variant(rp.Commands[a].Args) == variant(rp.Commands[b].Args)
}

// variant tells apart what commands of one name do: the function of FCALL, whether INCRBY, DECRBY, HINCRBY
// or ZINCRBY subtracts, and whether SET sets a key that exists, one that does not, or both.
func variant(args []history.Bytes) string {
	if len(args) < 3 {
		return ""
	}
	switch strings.ToUpper(string(args[0])) {
	case "FCALL", "FCALL_RO":
		return string(args[1])
	case "INCRBY", "DECRBY", "INCRBYFLOAT", "ZINCRBY":
		return sign(args[2])
	case "HINCRBY", "HINCRBYFLOAT":
		return sign(args[len(args)-1])
	case "SET":
		for _, option := range args[3:] {
			if o := strings.ToUpper(string(option)); o == "NX" || o == "XX" {
				return o
			}
		}
	}
	return ""
}

// sign returns "-" for a negative number, "" for any other.
func sign(n history.Bytes) string {
	if strings.HasPrefix(string(n), "-") {
		return "-"
	}
	return ""
}

// keptFrom reports whether no event between the grant and the answer affected the keys of any
// node: see history.KeyEffect.
func (rp *denials) keptFrom(g *keyspace.Grant, p *history.Pair) bool {
	return !slices.ContainsFunc(rp.Ops, func(op history.Op) bool {
		return g.At.Lo <= op.Time && op.Time <= p.Complete.Time && op.EventKind().Keys != history.KeysKept
	})
}
