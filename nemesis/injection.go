package nemesis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// event records an action of the nemesis that oracles must know about.
func (s *injection) event(op history.Op) error {
	op.Process = history.Nemesis
	_, err := s.rec.Event(op)
	return err
}

// impact returns the place at which the action struck.
func (s *injection) impact() *history.Impact {
	at := momentOf(s.hit)
	at.Client = s.client
	return &history.Impact{At: at}
}

// lasted returns the place at which the action struck, its time in force, and its end.
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

// commandAndKey returns a command's name and its first key; "" for what is missing.
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

// clients returns the clients that the action strikes: its Others without the client at its
// Point, or only that client if it has no Others.
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

// serving returns the only node that clients use, if there is only one, else the node
// itself.
func serving(env testbed.Env, node string) string {
	if nodes, ok := env.(testbed.Inspector); ok {
		if list := nodes.List(); len(list) == 1 {
			return list[0]
		}
	}
	return node
}

// aimAtClient is the aim of client faults.
func aimAtClient(s *injection, w *history.Window) {
	if s.client != history.NoClient {
		w.Clients = []int{s.client}
	}
}

// aimAtNodes is the aim of node faults.
func aimAtNodes(s *injection, w *history.Window) { w.Nodes = s.action.Nodes }

// aimAtLinks is the aim of network faults.
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
