package checker

import (
	"slices"
	"strings"
	"unicode"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds grants that the key changes do not tell apart: it is unclear who owns
// them, or which of them a command ended. For these grants, ownership is unknown, and so is
// the cause of an overlap.

// severalInOne finds the places in which one value carries several holders at once, such as
// a list of owners in one string. In such a place, a command replaced the value under a
// holder, and the new value still has all parts that the holder had added.
//
// A command that merely overwrites another client's value, such as SET XX, drops the parts
// that the other client had added. Such a command stays a replacement.
func (rp *places) severalInOne() {
	for _, s := range rp.Strikes {
		if s.Kind != keyspace.Replacement {
			continue
		}
		for _, g := range s.On {
			at := rp.at[g.KeyPlace()]
			if at.several.What != "" || rp.Commands[s.Cmd].Client == g.Client || s.At.Lo >= rp.grantedUntil(g) || !rp.carriesOn(s, g) {
				continue
			}
			at.several = account.Fact{
				What: account.SeveralInOne, Key: g.Key, Nodes: []string{g.Node}, Clients: []int{rp.Commands[s.Cmd].Client, g.Client},
				Command: rp.call(s.Cmd), At: s.At.Lo,
			}
			rp.unsure = either(rp.unsure, at.several)
		}
	}
}

// carriesOn reports whether the strike's new value has all parts that the holder had added to the
// old value, and other parts as well. It is also true if the command only sets some bits of the
// value.
func (rp *places) carriesOn(s keyspace.Strike, g *keyspace.Grant) bool {
	if args := rp.Commands[s.Cmd].Args; len(args) > 0 && bitwise[strings.ToUpper(string(args[0]))] {
		return true
	}
	added := map[string]bool{}
	for pos, c := range rp.Commands {
		if c.Client != g.Client && pos != s.Cmd {
			continue
		}
		for _, i := range rp.Effects[pos] {
			k := rp.Evidence.Keys[i]
			if string(k.Key) != g.Key || !slices.Contains(append(g.Moved, g.Node), k.Node) || rp.Ran(pos).Lo < g.At.Lo {
				continue
			}
			was, is := parts(valueAt(k.Before, g.Place)), parts(valueAt(k.After, g.Place))
			if pos == s.Cmd {
				return len(added) > 0 && len(is) > len(added) && containsAll(is, added)
			}
			for p := range added {
				if !is[p] {
					delete(added, p)
				}
			}
			for p := range is {
				if !was[p] {
					added[p] = true
				}
			}
		}
	}
	return false
}

func containsAll(in, all map[string]bool) bool {
	for p := range all {
		if !in[p] {
			return false
		}
	}
	return true
}

// valueAt returns the value at that place of a key's content; "" if there is none.
func valueAt(k *history.KeyContent, place string) string {
	for _, s := range keyspace.Spots(k) {
		if s.Name == place {
			return s.Value
		}
	}
	return ""
}

// parts returns the words of a text. Binary data has no words, since the meaning of its
// bytes is unknown.
func parts(value string) map[string]bool {
	all := map[string]bool{}
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) || r == unicode.ReplacementChar }) {
		return all
	}
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	for _, p := range strings.FieldsFunc(value, func(r rune) bool { return !word(r) }) {
		all[p] = true
	}
	return all
}

// bitwise lists the commands that set some bits of a value and keep the rest.
var bitwise = map[string]bool{"SETBIT": true, "BITFIELD": true}

// takenOut finds the locks whose grants are elements that acquires take out of a key, such as tokens popped
// from a list. Such a key meets three conditions:
//
//   - Every successful acquire changed the key, and its last change took an element out. This excludes
//     elements that only wake waiting clients: an acquire that need not wait takes none.
//   - At least one acquire took an element that neither its client nor the acquire itself had added. This
//     excludes a queue that a client leaves when it is let in.
//   - At least one acquire did not put its element in another key. If every acquire did, the other key has
//     the grants, and they can be told apart.
func (rp *places) takenOut() {
	all := rp.takings()
	if len(all) == 0 {
		return
	}
	type stock struct{ lock, key string }
	takers := map[stock][]*taking{}
	var pools []stock
	granted := map[string]map[int]bool{}
	for _, h := range rp.Holds {
		if op, ok := rp.Invocation(h.Acquire); ok && rp.sentSomething(op) {
			if granted[h.Lock] == nil {
				granted[h.Lock] = map[int]bool{}
			}
			granted[h.Lock][op] = true
		}
	}
	for _, t := range all {
		at := stock{rp.Operation(t.op).Invoke.Lock, t.key}
		if !granted[at.lock][t.op] {
			continue
		}
		if takers[at] == nil {
			pools = append(pools, at)
		}
		takers[at] = append(takers[at], t)
	}
	for _, at := range pools {
		all := takers[at]
		others := slices.IndexFunc(all, func(t *taking) bool { return !t.added && !rp.tookOwn(t) })
		if len(all) < len(granted[at.lock]) || others < 0 || !slices.ContainsFunc(all, func(t *taking) bool { return !rp.standsElsewhere(t) }) {
			continue
		}
		if _, known := rp.pools[at.lock]; !known {
			t := all[others]
			rp.pools[at.lock] = account.Fact{
				What: account.TakenOut, Key: t.key, Nodes: []string{rp.Commands[t.cmd].Node}, Clients: []int{rp.Commands[t.cmd].Client},
				Command: rp.call(t.cmd), At: rp.Ran(t.cmd).Lo,
			}
			rp.unsure = either(rp.unsure, rp.pools[at.lock])
		}
	}
}

// taking lists the elements that one acquire took out of a key.
type taking struct {
	op, cmd int
	key     string
	what    []string // names of the elements
	took    bool     // the acquire's last change to the key took elements out
	added   bool     // the acquire also changed the key in another way
}

// takings returns one entry for each acquire and key, if the acquire's last change to the key took elements
// out of it. The entries are in order of the log.
func (rp *places) takings() []*taking {
	type visit struct {
		op  int
		key string
	}
	at := map[visit]*taking{}
	var all []*taking
	for pos, c := range rp.Commands {
		effects := rp.Effects[pos]
		if _, isAcquire := rp.Acquired(c.Op); len(effects) == 0 || !isAcquire {
			continue
		}
		for _, i := range effects {
			k := &rp.Evidence.Keys[i]
			here := visit{c.Op, string(k.Key)}
			t := at[here]
			if t == nil {
				t = &taking{op: c.Op, cmd: pos, key: here.key}
				at[here] = t
				all = append(all, t)
			}
			switch what, took := movedOut(&rp.Differences[i]); {
			case took:
				t.what, t.took, t.cmd = append(t.what, what...), true, pos
			case !k.Before.SameValue(k.After):
				t.took, t.added = false, true
			}
		}
	}
	return slices.DeleteFunc(all, func(t *taking) bool { return !t.took })
}

// movedOut returns the elements that the change took out of its key. took is false if the
// change also added or altered elements. A lowered number is no element: the shares of a
// count can be told apart.
func movedOut(d *keyspace.Difference) (what []string, took bool) {
	if len(d.Changed)+len(d.Added) > 0 {
		return nil, false
	}
	for _, name := range d.Removed {
		name, _, _ = strings.Cut(name, "#") // the number of an equal element
		what = append(what, name)
	}
	return what, len(what) > 0
}

// tookOwn reports whether an acquire of the same client had put the taken elements there.
func (rp *places) tookOwn(t *taking) bool {
	return slices.ContainsFunc(rp.Strikes, func(s keyspace.Strike) bool {
		return s.Cmd == t.cmd && s.Key == t.key && s.Kind != keyspace.Prolonging && slices.ContainsFunc(s.On, func(g *keyspace.Grant) bool {
			_, isAcquire := rp.Acquired(g.Op)
			return isAcquire && g.Client == rp.Commands[t.cmd].Client
		})
	})
}

// standsElsewhere reports whether the acquire also wrote one of the taken elements to
// another key.
func (rp *places) standsElsewhere(t *taking) bool {
	return slices.ContainsFunc(rp.Of(t.op), func(g *keyspace.Grant) bool {
		return g.Key != t.key && slices.ContainsFunc(t.what, func(e string) bool {
			place, _, _ := strings.Cut(g.Place, "#")
			return e != "" && (place == e || parts(g.Value)[e])
		})
	})
}

// indistinctCause returns the reason of a finding about a grant that cannot be told from others. The
// reason is unclassified, unless the lease was over anyway: see leaseOver.
func (rp *endings) indistinctCause(f Finding) ([]reason, bool) {
	if rp.unsure.What == "" {
		return nil, false
	}
	why, indistinct := rp.pools[f.Lock]
	for _, client := range f.Clients {
		for _, g := range rp.party(f, client) {
			if !indistinct {
				why, indistinct = rp.indistinct(g)
			}
		}
	}
	if r, over := rp.leaseOver(f); indistinct && over {
		return []reason{r}, true
	}
	return []reason{{cause: Unclassified, why: why}}, indistinct
}

// leaseOver explains a finding about two parties without a look at the keys. The second party was granted
// the lock only when the first party's lease was certainly over: more than a lease after the first party
// was told for the last time that it has the lock. No lock that does not renew its leases keeps anybody out
// for longer.
func (rp *endings) leaseOver(f Finding) (reason, bool) {
	if rp.Claims.Renews || rp.Claims.TTL <= 0 || len(f.Clients) != 2 {
		return reason{}, false
	}
	first, second, ok := rp.acquiresIn(f)
	if !ok {
		return reason{}, false
	}
	by, pos := rp.lastOf(second), rp.lastOf(first)
	if by < 0 || pos < 0 {
		return reason{}, false
	}
	granted, owner := rp.Ran(by).Lo, rp.Operation(first).Invoke
	told := rp.DoneAt(rp.Operation(first))
	for i := range rp.Pairing.All {
		p := &rp.Pairing.All[i]
		prolongs := p.Invoke.F == history.FAcquire || p.Invoke.F == history.FExtend
		if prolongs && p.Invoke.Client == owner.Client && p.Invoke.Lock == owner.Lock && p.Done() != history.Fail && p.Invoke.Time < granted {
			told = max(told, min(rp.DoneAt(p), granted))
		}
	}
	if until := told + rp.Claims.TTL; granted >= until {
		r := because(LeaseOutlived, []int{pos, by}, account.Fact{
			What: account.LeaseOver, Clients: []int{owner.Client}, Span: rp.Claims.TTL, Until: until,
		})
		return r.of(keyspace.WouldBe(rp.Commands[pos].Node, rp.Commands[pos].Client, first, pos, rp.Ran(pos))), true
	}
	return reason{}, false
}
