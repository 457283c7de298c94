package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// prolonged returns the last renewal before the contact by a client that was not
// responsible for the grant. It returns nil if the key would have been there without such
// renewals too.
func (rp *replay) prolonged(l *keyspace.Grant, m keyspace.Contact) *keyspace.Term {
	var last *keyspace.Term
	for i := l.LifeCount() - 1; i > 0; i-- {
		t, before := l.Life(i), l.Life(i-1)
		gone := before.Mortal && before.Expiry.Hi < m.At.Lo
		if t.At.Lo > m.At.Lo || last != nil && !gone || !rp.unowned(t, l) {
			continue
		}
		if last == nil {
			last = t
		}
		if gone {
			return last
		}
	}
	return nil
}

// unowned reports whether the sender of a renewal was not responsible for the grant: the
// grant was another client's, or its owner no longer attended to it when the renewal was
// sent. A renewal that was sent in time and arrived late is the owner's own. A client
// whose command put its own grant on the key, or which is acquiring the key again,
// prolonged its own grant. If readers share a key, the same may be true of a reader that
// never learnt whether it was let in.
func (rp *replay) unowned(t *keyspace.Term, l *keyspace.Grant) bool {
	if t.Cmd < 0 || t.Cmd != l.Cmd && rp.enters(t.Cmd, l.Key) {
		return false
	}
	if p, ok := rp.acquired(rp.Commands[t.Cmd].Op); ok && p.Done() == history.Info && compatible(l.Mode, p.Invoke.Mode) {
		return false
	}
	sent := rp.Commands[t.Cmd].Sent
	if _, asks := rp.acquired(rp.Commands[t.Cmd].Op); asks && t.Client == l.Client && rp.openAt(rp.Commands[t.Cmd].Op, sent) {
		return false
	}
	return t.Client != l.Client || !rp.cared(l, keyspace.At(sent))
}

// enters reports whether the command at place pos put a grant on the key, for its own client
// or for another. A refused share does not count.
func (rp *replay) enters(pos int, key string) bool {
	return slices.ContainsFunc(rp.madeBy(pos), func(g *keyspace.Grant) bool { return g.Key == key && !g.Refused })
}
