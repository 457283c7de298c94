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

// namedCalm are more undisturbed trials than the probe, of read-write locks only: where
// one client at a time holds the lock, the probe shows everything. The plans are all
// empty; the trials differ because their seeds come from the schedules' names.
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
