package gate

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// armed is one call of At: a point, and the function to run there. Gate.mu guards it.
type armed struct {
	point testbed.Point
	do    func(testbed.Hit)
	skip  int
	due   bool
	done  chan struct{} // closed when do has returned
}

// At implements testbed.Env. The function cancel waits for a running call of do, so do must not
// call cancel.
//
// The function do runs on the goroutine that reached the point, with no lock held. It may pause or
// crash this very client; that takes effect before the client goes on. If a command reaches
// several points at once, their functions run one after the other: the greatest Point.Turn
// first, equal ones in the order of the calls of At.
func (g *Gate) At(p testbed.Point, do func(testbed.Hit)) (cancel func()) {
	a := &armed{point: p, do: do, skip: p.Skip, done: make(chan struct{})}
	g.mu.Lock()
	if !g.closed {
		g.armed = append(g.armed, a)
	}
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		g.armed = slices.DeleteFunc(g.armed, func(b *armed) bool { return a == b })
		due := a.due
		g.mu.Unlock()
		if due {
			<-a.done
		}
	}
}

// reach runs the functions that At registered for the moment w of the command or, if the
// command has no arguments, for the beginning of its step. mu is held on entry and return,
// but not while the functions run.
func (g *Gate) reach(cmd *history.Command, w testbed.When, who waiter) {
	if !g.awaited(cmd, w) {
		return
	}
	g.asleep(who) // other goroutines of this instant go on first
	if w != testbed.Sent && who.conn != nil && who.conn.closed {
		return // the command will not be sent, or its reply will not be let through
	}
	now := g.clock()
	var due []*armed
	g.armed = slices.DeleteFunc(g.armed, func(a *armed) bool {
		if now < a.point.After || !lies(&a.point, cmd, w) {
			return false
		}
		if a.skip > 0 {
			a.skip--
			return false
		}
		a.due = true
		due = append(due, a)
		return true
	})
	if len(due) == 0 {
		return
	}
	slices.SortStableFunc(due, func(a, b *armed) int { return b.point.Turn - a.point.Turn })
	hit := testbed.Hit{Time: now, Command: *cmd}
	g.mu.Unlock()
	for _, a := range due {
		hit.Point = a.point
		a.run(hit)
	}
	g.mu.Lock()
	g.asleep(who) // goroutines that the functions woke go on first
}

// awaited reports whether a point is armed for the moment w of the command and Point.After has passed.
// mu is held.
func (g *Gate) awaited(cmd *history.Command, w testbed.When) bool {
	for _, a := range g.armed {
		if lies(&a.point, cmd, w) && g.clock() >= a.point.After {
			return true
		}
	}
	return false
}

func (a *armed) run(h testbed.Hit) {
	defer close(a.done)
	a.do(h)
}

// lies reports whether the point is at the moment w of the command or, if the command has
// no arguments, at the beginning of its step.
func lies(p *testbed.Point, cmd *history.Command, w testbed.When) bool {
	if p.Client != cmd.Client || p.Step != "" && p.Step != cmd.Phase {
		return false
	}
	if len(cmd.Args) == 0 {
		return p.N == 0
	}
	return p.N > 0 && p.N == cmd.N && (p.When == "" || p.When == w) && (p.Node == "" || p.Node == cmd.Node)
}
