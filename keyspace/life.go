package keyspace

import "time"

// Given is the life that a command gave the key with this term, in whole milliseconds,
// as Redis counts lives; 0 = none, or no command gave it. Where times are bounds only,
// it is the least that it can have been.
func (t *Term) Given() time.Duration {
	if t.Cmd < 0 || t.Event >= 0 || !t.Mortal {
		return 0
	}
	const unit = time.Millisecond
	return max(0, (t.Fair.Lo - t.At.Hi + unit - 1).Truncate(unit))
}

// LifeOf is the life of what the commands of that invocation put on keys: of each key
// the longest that it was given meanwhile, and of several keys the shortest, since a
// lock ends with the first of them. 0 = none has an end. Not ok: it put nothing there.
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
