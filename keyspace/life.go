package keyspace

import "time"

// Given is the TTL that a command gave the key with this term, in whole milliseconds, as
// Redis counts them; 0 = none, or no command gave the life. If the times are bounds only,
// Given is the shortest possible TTL.
func (t *Term) Given() time.Duration {
	if t.Cmd < 0 || t.Event >= 0 || !t.Mortal {
		return 0
	}
	const unit = time.Millisecond
	return max(0, (t.Fair.Lo - t.At.Hi + unit - 1).Truncate(unit))
}

// LifeOf is the TTL that the commands of that invocation gave a lock. For each key it
// takes the longest TTL that the key was given meanwhile; for several keys it takes the
// shortest of these, since a lock ends with the first of its keys. 0 = no key has a
// TTL. Not ok: the invocation put nothing on keys.
func (k *Keys) LifeOf(op int) (life time.Duration, ok bool) {
	longest := map[NodeKey]time.Duration{}
	for _, g := range k.Of(op) {
		for _, t := range g.Lives() {
			at := g.NodeKey()
			longest[at] = max(longest[at], t.Given())
		}
	}
	for _, l := range longest {
		if l > 0 && (life == 0 || l < life) {
			life = l
		}
	}
	return life, len(longest) > 0
}
