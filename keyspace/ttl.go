package keyspace

import "time"

// Given returns the TTL that a command gave the key, in whole milliseconds, as Redis counts
// them. It returns 0 if the key has no TTL or if no command set the TTL. If only bounds of
// the times are known, it returns the shortest possible TTL.
func (t *Term) Given() time.Duration {
	if t.Cmd < 0 || t.Event >= 0 || !t.Mortal {
		return 0
	}
	const unit = time.Millisecond
	return max(0, (t.Fair.Lo - t.At.Hi + unit - 1).Truncate(unit))
}

// TTLOf returns the TTL of the lock that an operation took; op is the index of its invocation. A key's TTL
// is the longest that any command gave the operation's grant on it, renewals included. If there are several
// keys, the shortest of their TTLs counts, since a lock ends with the first of its keys. TTLOf returns 0 if
// no key has a TTL. ok is false if the operation put nothing on keys.
func (k *Keys) TTLOf(op int) (ttl time.Duration, ok bool) {
	return k.ttlBy(op, func(*Term) bool { return true })
}

// TakenFor is TTLOf without renewals: only the operation's own commands count.
func (k *Keys) TakenFor(op int) (ttl time.Duration, ok bool) {
	return k.ttlBy(op, func(t *Term) bool { return t.Cmd < 0 || k.commands[t.Cmd].Op == op })
}

func (k *Keys) ttlBy(op int, counts func(*Term) bool) (ttl time.Duration, ok bool) {
	longest := map[NodeKey]time.Duration{}
	for _, g := range k.Of(op) {
		for _, t := range g.Terms() {
			if at := g.NodeKey(); counts(t) {
				longest[at] = max(longest[at], t.Given())
			}
		}
	}
	for _, t := range longest {
		if t > 0 && (ttl == 0 || t < ttl) {
			ttl = t
		}
	}
	return ttl, len(longest) > 0
}
