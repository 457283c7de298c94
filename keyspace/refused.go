package keyspace

import (
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// This file finds acquires that succeeded without changing a value, and among them those that Redis had refused.

// findResting finds the acquires that succeeded although they had changed no value by then, and notes the last
// command of each in r.resting.
func (r *reader) findResting() {
	r.resting = map[int]bool{}
	wrote := func(i int) bool { return !r.Evidence.Keys[i].Before.SameValue(r.Evidence.Keys[i].After) }
	for _, p := range r.pairing.All {
		if !r.acquires(p.Invoke.Index) || p.Done() != history.OK {
			continue
		}
		last, made := -1, false
		for _, pos := range r.SentBy(p.Invoke.Index) {
			if r.Commands[pos].Exec == 0 || r.ran[pos].Lo > p.Complete.Time {
				continue
			}
			if last < 0 || r.ran[last].Lo <= r.ran[pos].Lo {
				last = pos
			}
			made = made || slices.ContainsFunc(r.Effects[pos], wrote)
		}
		if last >= 0 && !made {
			r.resting[last] = true
		}
	}
}

// wasRefused reports whether Redis refused the command at pos, by which an acquire succeeded that changed
// no value. Other clients have the keys that the command met, commands of its kind took keys, and one of these
// is true:
//
//   - No command of its kind that took keys was answered like this, and the reply says no (refuses).
//   - Such commands were answered like this, and the values of the keys name their owners, and not the command's
//     client (namesOthers).
//
// A lock on a quorum may go on after a refusal. An EXEC that was answered nil took nothing, whether or not the key that
// another client had changed still stood.
func (r *reader) wasRefused(n *node, pos int, met []string) bool {
	c, others := r.Commands[pos], []*Grant{}
	undone := r.name(pos) == "EXEC" && c.Reply == "nil"
	if undone {
		met = r.lookedAt(n, pos)
	}
	for _, name := range met {
		others = append(others, n.keys[name].carried()...)
	}
	granted := r.grantReplies()[r.kindOf(pos)]
	if r.Claims.Quorum > 1 || len(others) == 0 && !undone || len(granted) == 0 || c.Replied == 0 ||
		slices.ContainsFunc(others, func(g *Grant) bool { return g.Client == c.Client }) {
		return false
	}
	if !granted[c.Reply] {
		return r.refuses(pos)
	}
	return !slices.ContainsFunc(others, func(g *Grant) bool { return !r.namesOthers(g, c) })
}

// lookedAt returns the keys of the node that the operation of the command at pos reached before it.
func (r *reader) lookedAt(n *node, pos int) (reached []string) {
	for name := range n.keys {
		if slices.ContainsFunc(r.SentBy(r.Commands[pos].Op), func(at int) bool {
			return at < pos && r.Commands[at].Node == n.name && r.Reaches(at, name)
		}) {
			reached = append(reached, name)
		}
	}
	return reached
}

// namesOthers reports whether the grant's value has words that only its owner sent first, and none that the
// command's client did, although the command passes such words. A reader may rely on another reader's key.
func (r *reader) namesOthers(g *Grant, c history.Command) bool {
	sends := func(client int, text string) bool {
		return slices.ContainsFunc(strings.FieldsFunc(text, outsideWord), func(w string) bool {
			of, sent := r.wordSenders()[w]
			return sent && of == client
		})
	}
	shared := g.Mode == history.Read && r.pair(c.Op).Invoke.Mode == history.Read
	return !shared && sends(g.Client, g.Value) && !sends(c.Client, g.Value) &&
		slices.ContainsFunc(c.Args, func(arg history.Bytes) bool { return sends(c.Client, string(arg)) })
}

// grantReplies returns the replies to the commands by which acquires put values into keys, by their kind.
func (r *reader) grantReplies() map[string]map[history.Bytes]bool {
	if r.granted != nil {
		return r.granted
	}
	r.granted = map[string]map[history.Bytes]bool{}
	for pos, changes := range r.Effects {
		c := r.Commands[pos]
		puts := func(i int) bool {
			return r.Evidence.Keys[i].After != nil && !r.Evidence.Keys[i].Before.SameValue(r.Evidence.Keys[i].After)
		}
		if c.Reply == "" || !r.acquires(c.Op) || !slices.ContainsFunc(changes, puts) {
			continue
		}
		kind := r.kindOf(pos)
		if r.granted[kind] == nil {
			r.granted[kind] = map[history.Bytes]bool{}
		}
		r.granted[kind][c.Reply] = true
	}
	return r.granted
}

// refuses reports whether a reply says no: it is nil, or a command's 0. What the number of a script means, only
// its author knows ("joined", "handed to you"): it says no if it ended an acquire as busy elsewhere.
func (r *reader) refuses(pos int) bool {
	reply, kind := r.Commands[pos].Reply, r.kindOf(pos)
	_, script := r.Commands[pos].Script()
	if reply == "nil" || reply == "0" && !script {
		return true
	}
	for at, c := range r.Commands {
		p := r.pair(c.Op)
		if c.Reply == reply && r.acquires(c.Op) && p.Complete != nil && p.Complete.Reason == history.Busy && r.kindOf(at) == kind {
			return true
		}
	}
	return false
}

// kindOf returns the digest of a command's script, or its name; "" if the command has no arguments.
func (r *reader) kindOf(pos int) string {
	if sha, isScript := r.Commands[pos].Script(); isScript {
		return sha
	}
	return r.name(pos)
}
