package nemesis

import (
	"fmt"
	"math/rand/v2"
)

// none disturbs nothing: what a recipe breaks here, it breaks by itself.
var none = Fault{
	Name:        "none",
	Doc:         "nothing: the recipe must hold here",
	Color:       "#9e9e9e",
	Undisturbed: true,
	Topologies:  sameTopology,
	Plans:       func(World, *rand.Rand) []Plan { return []Plan{{}} },
	named:       namedCalm,
}

// calm are how many clients go about their work undisturbed. Readers that come
// and go together, and a writer, take more than one trial to show everything.
var calm = []int{3, 3, 3, 8, 8}

// namedCalm let clients do what they do by themselves, once more than the probe.
// What tells these schedules apart is their names, from which their trials' seeds
// come. Where one client at a time is in, the probe shows it all.
func namedCalm(w World) []Schedule {
	if !w.Claims.ReadWrite {
		return nil
	}
	var all []Schedule
	for k, clients := range calm {
		all = append(all, Schedule{Name: fmt.Sprintf("probe.%d-0of%d", k+2, clients), Clients: clients, Plan: Plan{}})
	}
	return all
}
