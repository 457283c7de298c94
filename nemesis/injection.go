package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// event records an event of the nemesis that oracles must know about, such as history.FNodeDown.
func (s *injection) event(op history.Op) error {
	op.Process = history.Nemesis
	_, err := s.rec.Event(op)
	return err
}

// impact returns an Impact with the place at which the action struck: a client at a step or at a
// command.
func (s *injection) impact() *history.Impact {
	at := momentOf(s.hit)
	at.Client = s.client
	return &history.Impact{At: at}
}

// lasted returns an Impact with the place at which the action struck, its time in force, and the
// place at which a client ended it.
func (s *injection) lasted() *history.Impact {
	i, now := s.impact(), s.env.Now()
	if s.ended != nil {
		if s.action.Linger == 0 {
			now = s.ended.Time
		}
		until := momentOf(*s.ended)
		i.Until = &until
	}
	i.From, i.For = s.from, now-s.from
	return i
}

// momentOf converts a hit to a history.Moment: which client reached which step or command,
// and when.
func momentOf(h testbed.Hit) history.Moment {
	at := history.Moment{Time: h.Time, Client: h.Point.Client, Step: h.Point.Step, N: h.Point.N}
	if at.N == 0 {
		return at
	}
	at.Node, at.When = cmp.Or(h.Point.Node, h.Command.Node), h.Point.When // a trigger may name no node
	at.Command, at.Key = commandAndKey(h.Command)
	return at
}

// commandAndKey returns a command's name and its first key, or its first argument if it has no keys; each is
// "" if missing.
func commandAndKey(c history.Command) (name string, key history.Bytes) {
	if len(c.Args) == 0 {
		return "", ""
	}
	is := resp.Of(c.Args)
	if at := cmp.Or(is.First, is.NumKeys+1); at < len(c.Args) {
		key = c.Args[at]
	}
	return resp.Name(c.Args), key
}

// clients returns the clients that the action strikes. These are its Others, except the action's own
// client: the client that reached Point or, without a Point, Client. Without Others, the own client
// alone is struck; the result is nil if that is NoClient.
func (s *injection) clients() []int {
	if len(s.action.Others) == 0 {
		if s.client == history.NoClient {
			return nil
		}
		return []int{s.client}
	}
	return slices.DeleteFunc(slices.Clone(s.action.Others), func(c int) bool { return c == s.client })
}

// links returns the links that a network fault strikes: the action's Links, or those
// between its clients and its nodes. Later calls return the result of the first call.
func (s *injection) links() []testbed.Link {
	if s.struck != nil {
		return s.struck
	}
	a := s.action
	s.struck = slices.Clone(a.Links)
	if len(a.Links) > 0 {
		return s.struck
	}
	for _, c := range s.clients() {
		for _, n := range a.Nodes {
			l := testbed.Link{From: clientName(c), To: serving(s.env, n)}
			if a.OneConn && l.To == s.hit.Command.Node {
				l.Conn = s.hit.Command.Conn
			}
			s.struck = append(s.struck, l)
		}
	}
	return s.struck
}

// serving returns the node that clients use, if they use only one, else the given node.
func serving(env testbed.Env, node string) string {
	if nodes, ok := env.(testbed.Inspector); ok {
		if list := nodes.List(); len(list) == 1 {
			return list[0]
		}
	}
	return node
}

// aimAtClient is the Fault.aim of client faults.
func aimAtClient(s *injection, w *history.Window) {
	if s.client != history.NoClient {
		w.Clients = []int{s.client}
	}
}

// aimAtNodes is the Fault.aim of node faults.
func aimAtNodes(s *injection, w *history.Window) { w.Nodes = s.action.Nodes }

// aimAtLinks is the Fault.aim of network faults.
func aimAtLinks(s *injection, w *history.Window) {
	for _, l := range s.links() {
		w.Links = append(w.Links, history.Link{From: l.From, To: l.To, Direction: s.action.Direction, Conn: l.Conn})
	}
}

// timing returns the action's planned start and end.
func (a Action) timing() *history.Timing {
	return &history.Timing{
		At: a.At, After: a.After, Delay: a.Delay, Arm: (*history.Trigger)(a.Arm), Point: (*history.Trigger)(a.Point),
		For: a.For, Until: (*history.Trigger)(a.Until), Linger: a.Linger, Limit: a.Limit,
	}
}

func clientName(i int) string { return history.ClientName(i) }

// triggerWait waits for a trigger. The first client that reaches it is held until do has
// returned; later clients pass.
type triggerWait struct {
	hit     chan testbed.Hit // gets the first hit, once do has returned for it
	cancels []func()
}

// await waits at the points of t for the clients that match t.Who relative to struck. If several
// waits share a point, the wait with the greatest turn goes first. The order in which the waits
// were set does not matter.
func await(env testbed.Env, t Trigger, struck, turn int, do func(testbed.Hit)) *triggerWait {
	w := &triggerWait{hit: make(chan testbed.Hit, 1)}
	var taken atomic.Bool // not sync.Once, which would hold later clients too
	for _, c := range t.Clients {
		if t.Who == Other && c == struck || t.Who == Same && c != struck {
			continue
		}
		p := t.point(c)
		p.Turn = turn
		w.cancels = append(w.cancels, env.At(p, func(h testbed.Hit) {
			if taken.CompareAndSwap(false, true) {
				do(h)
				w.hit <- h
			}
		}))
	}
	return w
}

// stop cancels the wait. After stop has returned, do is not running and will not run.
func (w *triggerWait) stop() {
	for _, cancel := range w.cancels {
		cancel()
	}
	w.cancels = nil
}

// last returns the hit that a stopped wait may have got at the last moment.
func (w *triggerWait) last() (testbed.Hit, bool) {
	select {
	case h := <-w.hit:
		return h, true
	default:
		return testbed.Hit{}, false
	}
}

// sleepUntil waits for an instant of the history's clock.
func sleepUntil(ctx context.Context, env testbed.Env, at time.Duration) error {
	return testbed.Sleep(ctx, at-env.Now())
}

// linkFault returns the inject of a fault that applies do to each of its links. The proof is the
// network's count of affected messages or, for resets, of reset connections.
func linkFault(do func(testbed.Network, context.Context, testbed.Link, testbed.Direction) (testbed.Undo, error)) func(context.Context, *injection) (heal, error) {
	return func(ctx context.Context, s *injection) (heal, error) {
		network := s.env.(testbed.Network)
		undos, err := doAll(ctx, s.links(), func(l testbed.Link) (testbed.Undo, error) {
			undo, err := do(network, ctx, l, s.action.Direction)
			if err != nil {
				err = fmt.Errorf("%s on %s–%s: %w", s.action.Fault, l.From, l.To, err)
			}
			return undo, err
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (result, error) {
			i := s.lasted()
			hits, err := undoAll(ctx, undos)
			if s.fault.effect == history.Reset {
				i.Connections = hits
			} else {
				i.Messages = hits
			}
			return result{hits, i}, err
		}, nil
	}
}

// doAll does something to all targets. If that fails on a target, doAll undoes it on the earlier ones.
func doAll[T any](ctx context.Context, targets []T, do func(T) (testbed.Undo, error)) (undos []testbed.Undo, err error) {
	for _, t := range targets {
		undo, err := do(t)
		if err != nil {
			return nil, errors.Join(err, takeBackAll(ctx, undos))
		}
		undos = append(undos, undo)
	}
	return undos, nil
}

// takeBackAll calls every undo after a failure, even if ctx has ended.
func takeBackAll(ctx context.Context, undos []testbed.Undo) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healing)
	defer cancel()
	_, err := undoAll(ctx, undos)
	return err
}

// undoAll calls every undo, even if one fails, and sums their hits.
func undoAll(ctx context.Context, undos []testbed.Undo) (hits int, err error) {
	for _, undo := range undos {
		n, uerr := undo(ctx)
		hits += n
		err = errors.Join(err, uerr)
	}
	return hits, err
}

// resetLink adapts testbed.Network.Reset to linkFault.
func resetLink(n testbed.Network, ctx context.Context, l testbed.Link, _ testbed.Direction) (testbed.Undo, error) {
	return n.Reset(ctx, l)
}

// noticeable is the minimum time for which the harness must hold a client before stalled records a stall.
// killAsync also waits at most this long for a death.
const noticeable = time.Millisecond

// stalled records how long the harness held a client at a point while the harness struck or healed.
// On real time a lease may end in this time; such an end is no flaw of the lock. On virtual time
// striking and healing take no time, so nothing is recorded.
func (s *injection) stalled(h testbed.Hit) error {
	held := s.env.Now() - h.Time - s.meant
	if held < noticeable || s.fault.freezes && h.Point.Client == s.client {
		return nil
	}
	return s.event(history.Op{Client: history.NoClient, F: history.FStall, Offset: held})
}
