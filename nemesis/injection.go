package nemesis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// event records a deed of the nemesis that oracles must know about.
func (s *injection) event(op history.Op) error {
	op.Process = history.Nemesis
	_, err := s.rec.Event(op)
	return err
}

// impact is where the action struck.
func (s *injection) impact() *history.Impact {
	at := placeOf(s.hit)
	at.Client = s.client
	return &history.Impact{At: at}
}

// lasted is where the action struck, for how long it was in force, and what ended it.
func (s *injection) lasted() *history.Impact {
	i, now := s.impact(), s.env.Now()
	if s.ended != nil {
		if s.action.Linger == 0 {
			now = s.ended.Time
		}
		until := placeOf(*s.ended)
		i.Until = &until
	}
	i.From, i.For = s.from, now-s.from
	return i
}

// placeOf is where a client was when it reached a point.
func placeOf(h testbed.Hit) history.Place {
	at := history.Place{Time: h.Time, Client: h.Point.Client, Step: h.Point.Step, N: h.Point.N}
	if at.N == 0 {
		return at
	}
	at.Node, at.When = cmp.Or(h.Point.Node, h.Command.Node), h.Point.When // a trigger may leave the node open
	at.Command, at.Key = commandAndKey(h.Command)
	return at
}

// commandAndKey are a command's name and its key, as far as it has them.
func commandAndKey(c history.Command) (name string, key history.Bytes) {
	if len(c.Args) == 0 {
		return "", ""
	}
	name, at := strings.ToUpper(string(c.Args[0])), 1
	if name == "EVAL" || name == "EVALSHA" {
		at = 3
	}
	if at < len(c.Args) {
		key = c.Args[at]
	}
	return name, key
}

// clients are whom the action strikes: its Others without the client at its Point, or, if
// it names no Others, that client.
func (s *injection) clients() []int {
	if len(s.action.Others) == 0 {
		if s.client == history.NoClient {
			return nil
		}
		return []int{s.client}
	}
	return slices.DeleteFunc(slices.Clone(s.action.Others), func(c int) bool { return c == s.client })
}

// links are what a fault of the network strikes: the action's Links, or those between its
// nodes and its clients. Later calls return the same as the first.
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

// serving is the node, or the node that all clients use in its place.
func serving(env testbed.Env, node string) string {
	if nodes, ok := env.(testbed.Inspector); ok {
		if list := nodes.List(); len(list) == 1 {
			return list[0]
		}
	}
	return node
}

// aimAtClient is for faults of clients.
func aimAtClient(s *injection, w *history.Window) {
	if s.client != history.NoClient {
		w.Clients = []int{s.client}
	}
}

// aimAtNodes is for faults of nodes.
func aimAtNodes(s *injection, w *history.Window) { w.Nodes = s.action.Nodes }

// aimAtLinks is for faults of the network.
func aimAtLinks(s *injection, w *history.Window) {
	for _, l := range s.links() {
		w.Links = append(w.Links, history.Link{From: l.From, To: l.To, Direction: s.action.Direction, Conn: l.Conn})
	}
}

// timing is when the action is to begin and to end.
func (a Action) timing() *history.Timing {
	return &history.Timing{
		At: a.At, After: a.After, Delay: a.Delay, Arm: (*history.Trigger)(a.Arm), Point: (*history.Trigger)(a.Point),
		For: a.For, Until: (*history.Trigger)(a.Until), Linger: a.Linger, Limit: a.Limit,
	}
}

func clientName(i int) string { return history.ClientName(i) }
