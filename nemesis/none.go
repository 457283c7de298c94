package nemesis

import "math/rand/v2"

// none disturbs nothing: what a recipe breaks here, it breaks by itself.
var none = Fault{
	Name:        "none",
	Doc:         "nothing: the recipe must hold here",
	Color:       "#9e9e9e",
	Undisturbed: true,
	Topologies:  sameTopology,
	Plans:       func(World, *rand.Rand) []Plan { return []Plan{{}} },
}
