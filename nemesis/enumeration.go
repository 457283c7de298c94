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

// enumerate returns an empty enumeration.
func (w World) enumerate() *enumeration { return &enumeration{World: w} }

// at returns an action that strikes the first of the clients in who to get to a spot.
func (e *enumeration) at(s spot, idea string, who []int, l lineup) Action {
	return e.timed(e.action(s, idea, who, l))
}

// timed sets an action's earliest start, its deadline and no client.
func (e *enumeration) timed(a Action) Action {
	a.Client, a.At, a.By = history.NoClient, e.settled(), e.patience()
	return a
}

// add adds a schedule with one action for each entry of l.struck, all at spot s and all
// changed by shape. Variant, which may be empty, distinguishes schedules at one spot.
func (e *enumeration) add(l lineup, s spot, variant, idea string, shape func(*Action)) {
	var p Plan
	for _, who := range l.struck {
		a := e.at(s, idea, who, l)
		shape(&a)
		p = append(p, a)
	}
	e.plan(l, named(s, variant), p...)
}

// writers adds a schedule for a read-write lock in which two writers take part and one is
// struck. In other schedules chance decides which clients read and which write.
func (e *enumeration) writers(s spot, variant, idea string, shape func(*Action)) {
	if !e.Claims.ReadWrite {
		return
	}
	e.add(pair, s, join(variant, "writers"), idea, shape)
	e.all[len(e.all)-1].Writers = true
}

// plan adds a schedule of these actions and gives them their IDs.
func (e *enumeration) plan(l lineup, name string, actions ...Action) {
	for i := range actions {
		actions[i].ID = i + 1
	}
	e.all = append(e.all, Schedule{Name: name + "-" + l.name, Clients: l.clients, Plan: actions})
}

// named joins a spot's name with a variant's.
func named(s spot, variant string) string { return join(s.String(), variant) }

// join joins the nonempty names of variants with dots.
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

// unique keeps only the first of several schedules with the same name. A read-write lock
// has such duplicates, because its World.one is trio.
func unique(all []Schedule) []Schedule {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Schedule) bool {
		again := seen[s.Name]
		seen[s.Name] = true
		return again
	})
}
