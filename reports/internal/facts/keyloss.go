package facts

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// redateLosses redates losses of keys. The evidence records a loss when the node came back;
// redateLosses moves it to the time when the node went down. It changes events and spans. It returns
// additional events: the losses on nodes that never came back.
func redateLosses(ops []history.Op, events []Event, spans []Span) (more []Event) {
	downs, gone := Downs(ops)
	went := func(node string, at time.Duration) time.Duration {
		for _, op := range ops {
			if down, ok := downs[op.Index]; ok && op.Node == node && down < at && at <= op.Time {
				return down
			}
		}
		return at
	}
	for i, x := range events {
		if x.Kind == Lost {
			events[i].At = went(x.Node, x.At)
		}
	}
	for i := range spans {
		s := &spans[i]
		if s.End == Lost {
			s.To = max(s.From, went(s.Node, s.To))
		}
		if at, ok := gone[s.Node]; ok && s.From < at && at < s.To {
			s.To, s.End = at, Lost
			more = append(more, Event{At: at, NodeKey: s.NodeKey, Client: history.NoClient, Kind: Lost, Owner: s.Owner, Command: -1})
		}
	}
	return more
}

// Downs returns two maps. downs maps the index of each node-up event to the time at which the node
// had gone down; if no event shows that time, to the time of the node-up event. gone maps the name
// of each node that never came back to the time at which it went down.
func Downs(ops []history.Op) (downs map[int]time.Duration, gone map[string]time.Duration) {
	downs, gone = map[int]time.Duration{}, map[string]time.Duration{}
	for _, op := range ops {
		switch op.F {
		case history.FNodeDown:
			gone[op.Node] = op.Time
		case history.FNodeUp:
			at, ok := gone[op.Node]
			if !ok {
				at = op.Time
			}
			downs[op.Index] = at
			delete(gone, op.Node)
		}
	}
	return downs, gone
}
