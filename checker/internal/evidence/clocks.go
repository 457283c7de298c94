package evidence

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Clock is a wall clock as the list of its offsets, in order of time.
type Clock []Offset

// Offset is how far a clock was ahead of the trial's clock (behind, if negative), from Since on.
type Offset struct{ Since, Ahead time.Duration }

// clocksOf returns the wall clocks of the clients and of the nodes that an entry sets.
func clocksOf(ops []history.Op) (clients map[int]Clock, nodes map[string]Clock) {
	clients, nodes = map[int]Clock{}, map[string]Clock{}
	for _, op := range ops {
		switch set := (Offset{op.Time, op.Offset}); {
		case op.Event(history.FClock):
			clients[op.Client] = append(clients[op.Client], set)
		case op.Event(history.FNodeClock):
			nodes[op.Node] = append(nodes[op.Node], set)
		}
	}
	return clients, nodes
}

// Ahead returns how far the clock was ahead at that time.
func (c Clock) Ahead(at time.Duration) (ahead time.Duration) {
	for _, o := range c {
		if o.Since <= at {
			ahead = o.Ahead
		}
	}
	return ahead
}

// SetIn reports whether the clock was set in the interval (from, to].
func (c Clock) SetIn(from, to time.Duration) bool {
	return slices.ContainsFunc(c, func(o Offset) bool { return from < o.Since && o.Since <= to })
}

// Jumps returns the changes of the offset up to that time: Ahead is how far the clock jumped ahead.
func (c Clock) Jumps(until time.Duration) (jumps []Offset) {
	ahead := time.Duration(0)
	for _, o := range c {
		if by := o.Ahead - ahead; by != 0 && o.Since <= until {
			jumps = append(jumps, Offset{o.Since, by})
		}
		ahead = o.Ahead
	}
	return jumps
}

// Shows returns the first instant of the trial, no earlier than the time from, at which the clock
// shows the time wall or a later one.
func (c Clock) Shows(wall, from time.Duration) time.Duration {
	ahead := time.Duration(0)
	for _, o := range c {
		if t := max(from, wall-ahead); t < o.Since {
			return t
		}
		from, ahead = max(from, o.Since), o.Ahead
	}
	return max(from, wall-ahead)
}

// Ends returns when the lease's deadline passes for its holder, no earlier than the time from; Never if it has
// none.
func (c Clock) Ends(l history.Lease, from time.Duration) time.Duration {
	switch {
	case l.Deadline == 0:
		return Never
	case l.Monotonic:
		return max(from, l.Deadline)
	}
	return c.Shows(l.Deadline, from)
}

// Before reports whether the clock showed a time before wall at some instant in [from, to]. Only the time
// that the clock showed counts: a clock that was ahead during the whole interval may have shown no such
// time, although a right clock would have.
func (c Clock) Before(wall, from, to time.Duration) bool {
	ahead := time.Duration(0)
	for _, o := range c {
		if o.Since > to {
			break
		}
		if from < o.Since && from+ahead < wall {
			return true
		}
		from, ahead = max(from, o.Since), o.Ahead
	}
	return from+ahead < wall
}
