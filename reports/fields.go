package reports

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// leave removes a client's own field of a hash. If others have theirs it is true,
// and the key is one of theirs from then on.
func (l *keyLog) leave(n keyName, c history.Command) bool {
	s := l.open[n]
	if s.fields[c.Client] {
		l.events[len(l.events)-1].Owner = c.Client
	}
	delete(s.fields, c.Client)
	if len(s.fields) == 0 {
		return false
	}
	if s.owner == c.Client {
		l.close(n, c.Served, keyDeleted)
		next := slices.Min(slices.Collect(maps.Keys(s.fields)))
		l.open[n] = &keyState{since: c.Served, owner: next, fields: s.fields, deadline: s.deadline, earliest: s.earliest}
	}
	return true
}

// remover finds who removed the owner's field of a hash that was found free at a
// time, together with his own: the last who left, if nobody set or prolonged
// anything since, no life ended, and nothing happened to the node.
func (l *keyLog) remover(n keyName, s *keyState, free time.Duration) (keyEvent, bool) {
	if s.deadline > 0 && s.earliest <= free {
		return keyEvent{}, false
	}
	for _, x := range slices.Backward(l.events) {
		switch {
		case x.Node != n.node || x.Key != n.key:
		case x.Kind == keyDeleted && x.Client != s.owner:
			return x, x.At > l.upheaval
		case x.Kind != keyDeleted:
			return keyEvent{}, false
		}
	}
	return keyEvent{}, false
}
