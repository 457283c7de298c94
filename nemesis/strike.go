package nemesis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// event records that the nemesis did something that oracles must know of.
func (s *strike) event(op history.Op) error {
	op.Process = history.Nemesis
	_, err := s.rec.Event(op)
	return err
}

// place says in words where the action struck: "c0 about to send DEL lock-0 to n0".
func (s *strike) place() string {
	p := s.hit.Point
	if p.Step == "" {
		return "at " + instant(s.hit.Time)
	}
	who := clientName(s.client)
	what := command(s.hit.Command)
	if p.N == 0 {
		return fmt.Sprintf("%s at the beginning of %s at %s", who, p.Step, instant(s.hit.Time))
	}
	if what == "" {
		what = fmt.Sprintf("the %s command of %s", ordinal(p.N), p.Step)
	}
	p.Node = cmp.Or(p.Node, s.hit.Command.Node) // a trigger may leave it open
	switch p.When {
	case testbed.Before:
		return fmt.Sprintf("%s about to send %s to %s at %s", who, what, p.Node, instant(s.hit.Time))
	case testbed.Sent:
		return fmt.Sprintf("%s having sent %s to %s at %s", who, what, p.Node, instant(s.hit.Time))
	}
	return fmt.Sprintf("%s at the reply to its %s from %s at %s", who, what, p.Node, instant(s.hit.Time))
}

// lasted says in words how long the action was in force and what ended it.
func (s *strike) lasted() string {
	now := s.env.Now()
	if s.ended != nil {
		now = s.ended.Time
	}
	text := fmt.Sprintf("from %s for %s", instant(s.from), span(now-s.from))
	if s.ended == nil {
		return text
	}
	p := s.ended.Point
	text += fmt.Sprintf(", until %s", clientName(p.Client))
	if p.N == 0 {
		return text + " began " + p.Step
	}
	if what := command(s.ended.Command); what != "" {
		return text + " came to its " + what
	}
	return text + fmt.Sprintf(" came to the %s command of %s", ordinal(p.N), p.Step)
}

// clients are whom the action strikes: those that it names but for the one at
// its Point, or that one.
func (s *strike) clients() []int {
	if len(s.action.Others) == 0 {
		if s.client == history.NoClient {
			return nil
		}
		return []int{s.client}
	}
	return slices.DeleteFunc(slices.Clone(s.action.Others), func(c int) bool { return c == s.client })
}

// links are what a fault of the network strikes: those the action names, or
// those between its nodes and its clients. They stay what they were at first.
func (s *strike) links() []testbed.Link {
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

// serving is the node, or the one that has taken its place with all clients.
func serving(env testbed.Env, node string) string {
	if nodes, ok := env.(testbed.Inspector); ok {
		if list := nodes.List(); len(list) == 1 {
			return list[0]
		}
	}
	return node
}

// clientTarget names the client that a fault of clients strikes.
func clientTarget(s *strike) string {
	if s.client == history.NoClient {
		return ""
	}
	return clientName(s.client)
}

// nodeTarget names the nodes that a fault of nodes strikes.
func nodeTarget(s *strike) string { return strings.Join(s.action.Nodes, " ") }

// linkTarget names the links that a fault of the network strikes.
func linkTarget(s *strike) string { return linkNames(s.links(), s.action.Direction) }

// linkNames is links in words: "c0→n0", "c0←n0", "c0↔n0".
func linkNames(links []testbed.Link, d testbed.Direction) string {
	arrow := map[testbed.Direction]string{testbed.Upstream: "→", testbed.Downstream: "←"}[d]
	if arrow == "" {
		arrow = "↔"
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.From + arrow + l.To
	}
	return strings.Join(names, " ")
}
