package shrink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// fewerActions leaves out actions of the plan. If action B waited for a left-out action A,
// B then waits for the action that A waited for.
func fewerActions(s trial.Spec) (edits []edit) {
	for _, c := range chunks(len(s.Plan)) {
		edits = append(edits, func(s *trial.Spec) bool {
			return dropActions(s, func(i int) bool { return c[0] <= i && i < c[1] })
		})
	}
	return edits
}

// dropActions leaves out the actions that drop selects; it returns false if drop selects
// none.
func dropActions(s *trial.Spec, drop func(int) bool) bool {
	waits := map[int]int{} // maps a dropped action's ID to the ID that the action waited for
	number := map[int]int{0: 0}
	var kept nemesis.Plan
	for i, a := range s.Plan {
		if drop(i) {
			waits[a.ID] = a.After
			continue
		}
		kept = append(kept, a)
		number[a.ID] = len(kept)
	}
	if len(waits) == 0 {
		return false
	}
	for i := range kept {
		a := &kept[i]
		for after, gone := waits[a.After]; gone; after, gone = waits[a.After] {
			a.After = after
		}
		a.ID, a.After = number[a.ID], number[a.After]
		if a.After == 0 {
			a.Delay = 0
		}
	}
	s.Plan = kept
	return true
}

func fewerClients(s trial.Spec) (edits []edit) {
	for c := s.Options.Clients - 1; c >= 0; c-- {
		edits = append(edits, func(s *trial.Spec) bool { return dropClient(s, c) })
	}
	return edits
}

// jointClients leaves out one of at least three clients. Another client also runs the sections of the
// left-out client, before or after its own sections.
func jointClients(s trial.Spec) (edits []edit) {
	n := s.Options.Clients
	for c := n - 1; c >= 0 && n > 2; c-- {
		for d := range n {
			for _, first := range []bool{false, true} {
				edits = append(edits, func(s *trial.Spec) bool { return s.Options.Clients == n && mergeClients(s, c, d, first) })
			}
		}
	}
	return edits
}

// mergeClients gives the sections and faults of client c to client d. If first is set, c's sections
// come before d's, else after them.
func mergeClients(s *trial.Spec, c, d int, first bool) bool {
	if c == d || max(c, d) >= len(s.Options.Script) {
		return false
	}
	parts := [][]workloads.Section{s.Options.Script[d], s.Options.Script[c]}
	if first {
		slices.Reverse(parts)
	}
	s.Options.Script[d] = slices.Concat(parts...)
	for i := range s.Plan {
		a := &s.Plan[i]
		if a.Client == c {
			a.Client = d
		}
		lists := []*[]int{&a.Others}
		for _, t := range triggers(a) {
			if *t != nil {
				lists = append(lists, &(*t).Clients)
			}
		}
		for _, list := range lists {
			if slices.Contains(*list, c) && !slices.Contains(*list, d) {
				*list = append(*list, d)
				slices.Sort(*list)
			}
		}
		for k, l := range a.Links {
			if moved := (testbed.Link{From: clientID(d), To: l.To, Conn: l.Conn}); l.From == clientID(c) && !slices.Contains(a.Links, moved) {
				a.Links[k] = moved
			}
		}
	}
	return dropClient(s, c)
}

// dropClient leaves out a client, and the actions that struck or waited for only that client. Clients
// with higher numbers move down by one.
func dropClient(s *trial.Spec, c int) bool {
	if c >= s.Options.Clients || s.Options.Clients == 1 {
		return false
	}
	s.Options.Clients--
	if c < len(s.Options.Script) {
		s.Options.Script = slices.Delete(s.Options.Script, c, c+1)
	}
	void := map[int]bool{} // actions to leave out, by index in the plan
	for i := range s.Plan {
		void[i] = !withoutClient(&s.Plan[i], c)
	}
	dropActions(s, func(i int) bool { return void[i] })
	return true
}

// withoutClient removes a client from an action. It returns false if the action is then without a
// client to wait for or to strike.
func withoutClient(a *nemesis.Action, c int) bool {
	left := true
	for _, t := range triggers(a) {
		if *t != nil {
			(*t).Clients = withoutNumber((*t).Clients, c)
			left = left && len((*t).Clients) > 0
		}
	}
	if len(a.Others) > 0 {
		a.Others = withoutNumber(a.Others, c)
		left = left && len(a.Others) > 0
	}
	if len(a.Links) > 0 {
		a.Links = slices.DeleteFunc(a.Links, func(l testbed.Link) bool { return l.From == clientID(c) })
		left = left && len(a.Links) > 0
	}
	for i := range a.Links {
		var n int
		if _, err := fmt.Sscanf(a.Links[i].From, "c%d", &n); err == nil && n > c {
			a.Links[i].From = clientID(n - 1)
		}
	}
	switch {
	case a.Client > c:
		a.Client--
	case a.Client == c:
		left = left && (a.Point != nil || len(a.Others) > 0)
		a.Client = history.NoClient
	}
	return left
}

// withoutNumber removes n from numbers and decrements the larger ones.
func withoutNumber(numbers []int, n int) (left []int) {
	for _, m := range numbers {
		switch {
		case m < n:
			left = append(left, m)
		case m > n:
			left = append(left, m-1)
		}
	}
	return left
}

func clientID(c int) string { return fmt.Sprintf("c%d", c) }

// fewerSections leaves out critical sections: first all but the first few of every client,
// then some of a single client.
func fewerSections(s trial.Spec) (edits []edit) {
	longest := 0
	for _, sections := range s.Options.Script {
		longest = max(longest, len(sections))
	}
	for k := 0; k < longest; k = max(1, 2*k) {
		edits = append(edits, func(s *trial.Spec) bool {
			cut := false
			for c, sections := range s.Options.Script {
				cut = cut || len(sections) > k
				s.Options.Script[c] = sections[:min(k, len(sections))]
			}
			return cut
		})
	}
	for c := range s.Options.Script {
		for _, r := range chunks(len(s.Options.Script[c])) {
			edits = append(edits, func(s *trial.Spec) bool {
				if c >= len(s.Options.Script) || r[0] >= len(s.Options.Script[c]) {
					return false
				}
				sections := s.Options.Script[c]
				s.Options.Script[c] = slices.Delete(sections, r[0], min(r[1], len(sections)))
				return true
			})
		}
	}
	return edits
}

// plainerOptions simplifies the options of a scripted trial: no overruns; a single lock, or no unused
// locks after the last used one.
func plainerOptions(s trial.Spec) []edit {
	if len(s.Options.Script) == 0 {
		return nil
	}
	return []edit{
		func(s *trial.Spec) bool {
			was := s.Options.Overrun > 0
			s.Options.Overrun = 0
			return was
		},
		func(s *trial.Spec) bool {
			if s.Options.Keys == 1 {
				return false
			}
			s.Options.Keys = 1
			for c := range s.Options.Script {
				for n := range s.Options.Script[c] {
					s.Options.Script[c][n].Lock = 0
				}
			}
			return true
		},
		func(s *trial.Spec) bool {
			used := 1
			for _, sections := range s.Options.Script {
				for _, section := range sections {
					used = max(used, section.Lock+1)
				}
			}
			if used >= s.Options.Keys {
				return false
			}
			s.Options.Keys = used
			return true
		},
	}
}

// shallowerSections reduces the depth to which sections re-enter reentrant locks.
func shallowerSections(s trial.Spec) (edits []edit) {
	for c := range s.Options.Script {
		for n := range s.Options.Script[c] {
			for _, depth := range []int{1, s.Options.Script[c][n].Depth / 2, s.Options.Script[c][n].Depth - 1} {
				edits = append(edits, onSection(c, n, func(x *workloads.Section) bool {
					if depth < 1 || depth >= x.Depth {
						return false
					}
					x.Depth = depth
					return true
				}))
			}
		}
	}
	return edits
}

// onSection returns an edit that applies do to section n of client c.
func onSection(c, n int, do func(*workloads.Section) bool) edit {
	return func(s *trial.Spec) bool {
		return c < len(s.Options.Script) && n < len(s.Options.Script[c]) && do(&s.Options.Script[c][n])
	}
}

// leastNodes is the minimum number of independent nodes: with fewer, a majority is all nodes.
const leastNodes = 3

// smallerTopology leaves out the replicas, or two of the independent nodes, if the recipe and the
// faults of the plan allow it.
func smallerTopology(s trial.Spec) (edits []edit) {
	switch s.Topology {
	case testbed.Replicated:
		edits = append(edits, withoutReplicas)
	case testbed.Independent:
		nodes := cmp.Or(s.Nodes, trial.DefaultNodes)
		for i := nodes - 1; i > 0 && nodes-2 >= leastNodes; i-- {
			for j := i - 1; j >= 0; j-- {
				edits = append(edits, func(s *trial.Spec) bool {
					return cmp.Or(s.Nodes, trial.DefaultNodes) == nodes && dropNodes(s, i, j)
				})
			}
		}
	}
	return edits
}

// withoutReplicas leaves out all nodes except the one that serves clients.
func withoutReplicas(s *trial.Spec) bool {
	recipe, ok := locks.ByID(s.Lock)
	if !ok || s.Topology == testbed.Single {
		return false
	}
	for _, name := range append(s.Plan.Faults(), s.Fault) {
		f, ok := nemesis.ByName(name)
		if !ok || !slices.Contains(f.Topologies(recipe.Topology), testbed.Single) {
			return false
		}
	}
	for i := range s.Plan {
		if !onlyNodes(&s.Plan[i], func(node string) (string, bool) { return node, node == nodeID(0) }) {
			return false
		}
	}
	s.Topology = testbed.Single
	return true
}

// dropNodes leaves out two of the independent nodes. Nodes with higher numbers move down.
func dropNodes(s *trial.Spec, i, j int) bool {
	recipe, ok := locks.ByID(s.Lock)
	if !ok {
		return false
	}
	before := s.PromisedBy(recipe).NodeQuorum()
	s.Nodes = cmp.Or(s.Nodes, trial.DefaultNodes) - 2
	after := s.PromisedBy(recipe).NodeQuorum()
	move := func(node string) (string, bool) {
		var n int
		if _, err := fmt.Sscanf(node, "n%d", &n); err != nil || n == i || n == j {
			return node, false
		}
		moved := n
		for _, gone := range []int{i, j} {
			if n > gone {
				moved--
			}
		}
		return nodeID(moved), true
	}
	for k := range s.Plan {
		a := &s.Plan[k]
		if a.Quorum == before {
			a.Quorum = after
		}
		if !onlyNodes(a, move) {
			return false
		}
	}
	return true
}

// onlyNodes restricts an action to the remaining nodes. The callback returns the new name of a node,
// and whether the node remains. onlyNodes returns false if the action is then without a target or a
// trigger.
func onlyNodes(a *nemesis.Action, to func(string) (name string, is bool)) bool {
	nodes, links := a.Nodes, a.Links
	a.Nodes, a.Links = nil, nil
	for _, n := range nodes {
		if name, is := to(n); is {
			a.Nodes = append(a.Nodes, name)
		}
	}
	for _, l := range links {
		from, is := l.From, true
		if strings.HasPrefix(from, "n") { // the link of a replica
			from, is = to(from)
		}
		name, there := to(l.To)
		if l.From, l.To = from, name; is && there {
			a.Links = append(a.Links, l)
		}
	}
	if len(nodes) > 0 && len(a.Nodes) == 0 || len(links) > 0 && len(a.Links) == 0 {
		return false
	}
	for _, t := range triggers(a) {
		if *t == nil || (*t).Node == "" {
			continue
		}
		name, is := to((*t).Node)
		if (*t).Node = name; !is {
			return false
		}
	}
	return true
}

func nodeID(n int) string { return fmt.Sprintf("n%d", n) }
