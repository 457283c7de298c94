package nemesis

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// enumeration collects a fault's named schedules.
type enumeration struct {
	World
	all []Schedule
}

// enumerate starts the schedules of a fault.
func (w World) enumerate() *enumeration { return &enumeration{World: w} }

// at starts an action at a spot, for the first of these clients of a line-up to get
// there.
func (e *enumeration) at(s spot, idea string, who []int, l lineup) Action {
	return e.timed(e.action(s, idea, who, l))
}

// timed is the action, which names no client, from when clients are settled and as long
// as a schedule waits.
func (e *enumeration) timed(a Action) Action {
	a.Client, a.At, a.By = history.NoClient, e.settled(), e.patience()
	return a
}

// add is a schedule that does one thing at one spot to each struck client. Variant,
// which may be empty, tells it from others at that spot.
func (e *enumeration) add(l lineup, s spot, variant, idea string, shape func(*Action)) {
	var p Plan
	for _, who := range l.struck {
		a := e.at(s, idea, who, l)
		shape(&a)
		p = append(p, a)
	}
	e.plan(l, named(s, variant), p...)
}

// writers adds a schedule in which two clients of a read-write lock, which both write,
// take part and one is struck. In other schedules chance decides who reads and who
// writes.
func (e *enumeration) writers(s spot, variant, idea string, shape func(*Action)) {
	if !e.Claims.ReadWrite {
		return
	}
	e.add(pair, s, join(variant, "writers"), idea, shape)
	e.all[len(e.all)-1].Writers = true
}

// plan is a schedule of these actions, which have no IDs yet.
func (e *enumeration) plan(l lineup, name string, actions ...Action) {
	for i := range actions {
		actions[i].ID = i + 1
	}
	e.all = append(e.all, Schedule{Name: name + "-" + l.name, Clients: l.clients, Plan: actions})
}

// named joins a spot's name with a variant's.
func named(s spot, variant string) string { return join(s.String(), variant) }

// join joins what tells variants apart.
func join(variants ...string) string {
	name := ""
	for _, v := range variants {
		if name != "" && v != "" {
			name += "."
		}
		name += v
	}
	return name
}

// unique keeps the first of schedules of one name: where it takes three clients to show
// anything, two line-ups are the same.
func unique(all []Schedule) []Schedule {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Schedule) bool {
		again := seen[s.Name]
		seen[s.Name] = true
		return again
	})
}
