package shrink

import (
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// onAction returns an edit that applies do to action i of the plan.
func onAction(i int, do func(*nemesis.Action) bool) edit {
	return func(s *trial.Spec) bool { return i < len(s.Plan) && do(&s.Plan[i]) }
}

// plainerActions removes conditions of actions, such as an action to wait for, passes of a point to
// skip, or a trigger that ends the action.
func plainerActions(s trial.Spec) (edits []edit) {
	for i := range s.Plan {
		for _, do := range plainer {
			edits = append(edits, onAction(i, do))
		}
	}
	return edits
}

// plainer are changes that each remove or relax one condition of an action.
var plainer = []func(*nemesis.Action) bool{
	func(a *nemesis.Action) bool { // let the action end after For
		if a.Until == nil || a.For == 0 {
			return false
		}
		a.Until, a.Linger, a.Limit = nil, 0, 0
		return true
	},
	func(a *nemesis.Action) bool { // let the action end after the maximum duration
		if a.Until == nil {
			return false
		}
		a.For, a.Until, a.Linger, a.Limit = max(a.For, a.Limit), nil, 0, 0
		return true
	},
	func(a *nemesis.Action) bool {
		was := a.Arm != nil
		a.Arm = nil
		return was
	},
	func(a *nemesis.Action) bool {
		was := a.After != 0
		a.After, a.Delay = 0, 0
		return was
	},
	func(a *nemesis.Action) bool {
		was := a.OneConn
		a.OneConn = false
		return was
	},
	skipping(func(int) int { return 0 }),
	skipping(func(n int) int { return n / 2 }),
	skipping(func(n int) int { return n - 1 }),
}

// skipping returns a change that lowers the number of passes that an action's triggers skip.
func skipping(fewer func(int) int) func(*nemesis.Action) bool {
	return func(a *nemesis.Action) bool {
		change := false
		for _, t := range triggers(a) {
			if *t != nil && (*t).Skip > 0 {
				(*t).Skip, change = fewer((*t).Skip), true
			}
		}
		return change
	}
}

// narrowerActions makes actions strike fewer nodes, links and clients, in one direction
// only, or wait for a single client.
func narrowerActions(s trial.Spec) (edits []edit) {
	for i, a := range s.Plan {
		for _, c := range chunks(len(a.Nodes)) {
			edits = append(edits, onAction(i, func(a *nemesis.Action) bool { return cut(&a.Nodes, c) }))
		}
		for _, c := range chunks(len(a.Links)) {
			edits = append(edits, onAction(i, func(a *nemesis.Action) bool { return cut(&a.Links, c) }))
		}
		for _, c := range chunks(len(a.Others)) {
			edits = append(edits, onAction(i, func(a *nemesis.Action) bool { return cut(&a.Others, c) }))
		}
		for _, d := range []testbed.Direction{testbed.Upstream, testbed.Downstream} {
			edits = append(edits, onAction(i, func(a *nemesis.Action) bool {
				was := a.Direction == testbed.Both
				a.Direction = d
				return was
			}))
		}
		for k := range triggers(&a) {
			edits = append(edits, oneClient(i, k, s.Options.Clients)...)
		}
	}
	return edits
}

// oneClient makes trigger k of action i wait for a single client.
func oneClient(i, k, clients int) (edits []edit) {
	for c := range clients {
		edits = append(edits, onAction(i, func(a *nemesis.Action) bool {
			t := *triggers(a)[k]
			if t == nil || len(t.Clients) < 2 || !slices.Contains(t.Clients, c) {
				return false
			}
			t.Clients = []int{c}
			return true
		}))
	}
	return edits
}

// cut removes a range of values, unless no value would remain.
func cut[T any](values *[]T, c [2]int) bool {
	from, to := c[0], min(c[1], len(*values))
	if from >= to || to-from == len(*values) {
		return false
	}
	*values = slices.Delete(*values, from, to)
	return true
}
