package nemesis

import (
	"fmt"
	"math/rand/v2"
)

var none = Fault{
	Name:        "none",
	Doc:         "nothing is disturbed: every violation is the recipe's own",
	Color:       "#9e9e9e",
	Undisturbed: true,
	Topologies:  sameTopology,
	Plans:       func(World, *rand.Rand) []Plan { return []Plan{{}} },
	schedules:   namedCalm,
}

// calm lists the numbers of clients of the undisturbed trials. Readers that overlap with
// each other and with a writer need several trials to show every interleaving.
var calm = []int{3, 3, 3, 8, 8}

// namedCalm returns undisturbed trials in addition to the probe, for read-write locks only:
// for an exclusive lock the probe shows everything. All plans are empty; the trials differ
// in their seeds, which derive from the schedules' names.
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
