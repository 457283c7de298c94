package checker

import "github.com/lockstorm/lockstorm/keyspace"

// gaveFirst reports whether the term, which the command at place pos gave the key of another
// client's grant, took nothing from that grant: the key had no TTL before, and either the owner
// gave it another one in time, or it lives for as long as the lease that the owner had asked
// for, or prolonged in a value. A lock that promises no end of its leases relies on a key
// without a TTL.
func (rp *replay) gaveFirst(g *keyspace.Grant, pos int) bool {
	p, isAcquire := rp.Acquired(g.Op)
	if !isAcquire || rp.Claims.TTL <= 0 || rp.Claims.Recovery <= 0 {
		return false
	}
	for i := 1; i < g.LifeCount(); i++ {
		t := g.Life(i)
		if t.Cmd != pos || !t.Mortal || t.Event >= 0 {
			continue
		}
		if g.Life(i-1).Mortal || g.AnyLife(func(earlier *keyspace.Term) bool { return earlier.Mortal && earlier.At.Hi < t.At.Lo }) {
			return false
		}
		asked := p.Invoke.Time
		for _, w := range rp.keyWrites()[keyWriter{g.Key, g.Client}] {
			if w.node == g.Node && w.op != g.Op && g.At.Lo < w.at && w.at < min(t.Fair.Hi, rp.grantedUntil(g)) && rp.tends(w, g) {
				asked = max(asked, w.at)
			}
		}
		if t.Fair.Hi >= asked+rp.Claims.TTL-termSlack {
			return true
		}
		for j := i + 1; j < g.LifeCount(); j++ {
			if own := g.Life(j); own.Client == g.Client && own.At.Hi < t.Fair.Lo {
				return true
			}
		}
		return false
	}
	return false
}
