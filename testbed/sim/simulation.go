package sim

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// simulation is the running simulation of one trial.
type simulation struct {
	setup  testbed.Setup
	outer  context.Context // the campaign's context, from outside the bubble
	ctx    context.Context // the trial's context
	cancel context.CancelCauseFunc
	*gate.Gate

	mu       sync.Mutex // guards the fields below, the network and the nodes
	schedule schedule
	events   int
	budget   int
	busy     time.Duration // when the last packet arrived
	buried   bool          // whether end has ended the contexts of crashed clients
	limit    *error        // set to the error if the code of a crashed client does not end
	broken   error         // why the simulation ended the trial; nil if it did not
	pipes    int
	servers  []*server
	streams  []*stream
	primary  *server // the primary of a replicated topology; nil in other topologies
	clients  []*client
	turns    turns
	changes  int // number of reported changes of keys
}

var (
	_ testbed.Env        = (*simulation)(nil)
	_ testbed.Network    = (*simulation)(nil)
	_ testbed.Nodes      = (*simulation)(nil)
	_ testbed.Clocks     = (*simulation)(nil)
	_ testbed.Clients    = (*simulation)(nil)
	_ testbed.NodeClocks = (*simulation)(nil)
	_ testbed.Memory     = (*simulation)(nil)
	_ testbed.SplitBrain = (*simulation)(nil)
)

// live runs a trial from beginning to end, in its bubble. live sets *limit to the error if it ended
// the trial because the code of a crashed client does not end.
func live(outer context.Context, s testbed.Setup, nodes []*node.Node, body func(context.Context, testbed.Env) error, limit *error) error {
	w := &simulation{setup: s, outer: outer, limit: limit, schedule: newSchedule(), budget: eventsPerClient * (s.Clients + 1) * int(1+s.Limit/usualLimit)}
	w.turns.sim = w
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(outer))
	defer w.cancel(nil)
	w.Gate = gate.New(gate.Options{
		Clients: s.Clients, Clock: s.Clock, Commands: s.Commands, Ordered: true, Stagger: w.stagger,
	})
	w.build(nodes)
	var scheduler sync.WaitGroup
	scheduler.Go(w.run)
	err := w.warmUp()
	if err == nil {
		time.Sleep((now() + tick).Truncate(tick) + bodyPlace - now())
		err = body(w.ctx, w)
	}
	w.tearDown()
	scheduler.Wait()
	time.Sleep(aftermath)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.servers {
		if what := s.node.Lacking(); what != "" {
			return fmt.Errorf("sim testbed: node %s: %s: try another testbed", s.name, what)
		}
	}
	if w.broken != nil {
		return w.broken
	}
	return err
}

// aftermath is the time that goroutines of the code under test have to notice the trial's
// end. After it the bubble's main function returns, and the bubble's clock stops.
const aftermath = 10 * time.Second

// bodyPlace is the place within a tick at which the body starts. The nemesis's timers, which
// start with the body, have this place, too. No pipe does.
const bodyPlace = placesOfPipes - apart/2

// build makes the servers, the clients with their links and the replication, and schedules the
// trial's time limit.
func (w *simulation) build(nodes []*node.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, n := range nodes {
		w.servers = append(w.servers, &server{
			sim: w, name: fmt.Sprintf("n%d", i), index: i, node: n, disk: disk{durability: w.setup.Durability},
		})
	}
	for _, s := range w.servers {
		if w.setup.Remedies != nil {
			s.node.Remedies(w.setup.Remedies)
		}
		if w.setup.Keys != nil {
			s.node.Watch(s)
		}
	}
	if w.setup.Topology == testbed.Replicated {
		w.primary = w.servers[0]
	}
	for id := range w.setup.Clients {
		w.clients = append(w.clients, w.newClient(id))
	}
	if w.primary != nil {
		for _, r := range w.servers[1:] {
			w.replicate(r, w.primary)
		}
	}
	if w.setup.Limit > 0 {
		w.schedule.add(&event{at: align(w.setup.Limit, 0), do: w.overdue})
	}
}

// stagger returns how long a goroutine of a client waits before it goes on. The time differs
// for each connection of up to clientsInTurn clients. So their goroutines go on at different
// instants.
func (w *simulation) stagger(client int, node string, conn int) time.Duration {
	at := 0
	for i, s := range w.servers {
		if s.name == node {
			at = i + 1
		}
	}
	places := len(w.servers) + 1
	place := client%clientsInTurn*places + at
	turns := 1 + place + conn*places*min(len(w.clients), clientsInTurn)
	d := time.Duration(turns) * tick
	if place := now() % tick; place < placesOfPipes && place%apart != 0 {
		return d // now lies between the places of two pipes, and so does the end of the wait
	}
	return d + 1 // the wait must not end at the place of the pipe that woke the goroutine
}

// clientsInTurn is the number of clients with distinct staggers. More clients than that are
// seldom woken at the same instant, and long staggers would slow clients down.
const clientsInTurn = 16

// serving returns the nodes that clients use now, in the order of locks.Client.Nodes.
func (w *simulation) serving() []*server {
	if w.primary != nil {
		return []*server{w.primary}
	}
	return w.servers
}

func (w *simulation) warmUp() error {
	for _, c := range w.clients {
		for _, r := range c.Pools() {
			if err := testbed.WarmUp(w.ctx, r, testbed.WarmConnections); err != nil {
				return fmt.Errorf("sim testbed: %w", err)
			}
		}
	}
	return nil
}

// tearDown closes all connections and ends the schedule.
func (w *simulation) tearDown() {
	w.cancel(nil)
	w.Gate.Close()
	for _, c := range w.clients {
		for _, r := range c.Locks().Nodes {
			r.Close() // fails harmlessly: the gate has closed the connections
		}
	}
	w.mu.Lock()
	w.schedule.close()
	w.turns.dismiss()
	for _, c := range w.clients {
		for _, l := range c.links {
			for _, conn := range l.conns {
				conn.dial(net.ErrClosed) // ends a wait for a connection
			}
		}
	}
	for _, s := range w.servers {
		for len(s.conns) > 0 {
			s.hangUp(s.conns[0])
		}
	}
	w.mu.Unlock()
	w.Gate.Flush()
}

// eventsPerClient is the budget of events for each client in a trial whose limit is shorter than
// usualLimit: hundreds of times what a trial needs.
const (
	eventsPerClient = 300_000
	usualLimit      = time.Minute
)

// abandon ends the trial for this reason, unless it has already ended. Mu is held.
func (w *simulation) abandon(why error) {
	if w.broken != nil {
		return
	}
	w.broken = why
	w.cancel(why)
	go w.Gate.Close() // Close waits for goroutines that need mu
}

// overdue starts end on a goroutine of its own: mu is held here, and end calls the gate, which
// must not be called while mu is held.
func (w *simulation) overdue() { go w.end() }

// burial is the time that the code of crashed clients has to end after its contexts have
// ended.
const burial = time.Minute

// end ends a trial that has exceeded its time limit. If only the code of crashed clients
// still runs, no lock is to blame, since a dead process waits for nothing. In that case end
// first ends the contexts of the crashed clients. If their code then still goes on, the
// testbed cannot judge the trial.
func (w *simulation) end() {
	living, crashed := w.Gate.InOperation()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case living || len(crashed) == 0:
		w.breakDown()
	case w.buried:
		*w.limit = fmt.Errorf("sim testbed: ended at %v: the code of a crashed client goes on although its contexts have ended", now())
		w.abandon(*w.limit)
	default:
		w.buried = true
		for _, id := range crashed {
			w.clients[id].End()
		}
		w.schedule.add(&event{at: align(now()+burial, 0), do: w.overdue})
	}
}

// breakDown ends a trial because the code under test does not end. Mu is held.
func (w *simulation) breakDown() {
	b := &testbed.Breakdown{
		Kind: history.FRunaway, Stack: crash.Goroutines(),
		Detail: fmt.Sprintf("not over after %v: a client does not come to its end", w.setup.Limit),
	}
	if quiet := now() - w.busy; quiet > w.setup.Limit/4 {
		b.Kind = history.FDeadlock
		b.Detail = fmt.Sprintf("nothing was sent any more for %v, and a client still waits%s", quiet, waitsIn(b.Stack, crash.Bubble()))
	}
	w.abandon(b)
}

type client struct {
	*gate.Client
	links []*link // in the order of locks.Client.Nodes
}

// clientBuffer is the size of each buffer of a client's connection. These buffers are most
// of the cost of setting up a trial. Messages may be longer.
const clientBuffer = 2 << 10

// newClient makes client id with a link to every node that clients use. Mu is
// held.
func (w *simulation) newClient(id int) *client {
	c := &client{Client: gate.NewClient(w.ctx, w.Gate, w.setup.Seed, id)}
	for i, s := range w.serving() {
		l := w.newLink(id, s)
		c.links = append(c.links, l)
		o := testbed.RedisOptions(address(i), w.setup.CommandTimeout)
		if timeout := w.setup.CommandTimeout; timeout > 0 { // negative = no timeout
			o.DialTimeout = timeout // may be shorter than in RedisOptions: only faults delay a dial
		}
		o.ReadBufferSize, o.WriteBufferSize = clientBuffer, clientBuffer
		sequencer := sequencer{sim: w, client: id, node: i, room: &room{}}
		c.ReachApart(o, l.dial, l.order(sequencer)).AddHook(sequencer)
	}
	return c
}

// Client implements testbed.Env.
func (w *simulation) Client(i int) testbed.Client { return w.clients[i] }

// Now implements testbed.Env.
func (w *simulation) Now() time.Duration { return w.setup.Clock() }

// Skew implements testbed.Clocks.
func (w *simulation) Skew(client int, offset time.Duration) {
	if r := w.setup.Remedies; r.On(remedy.Clocks) {
		r.Act()
		return
	}
	w.clients[client].Skew(offset)
}

// CrashClient implements testbed.Clients.
func (w *simulation) CrashClient(client int) error {
	w.setup.Remedies.Crashed(client)
	return w.Gate.CrashClient(client)
}
