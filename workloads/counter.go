package workloads

import "github.com/lockstorm/lockstorm/history"

// counter increments a shared value several times in each critical section. It shows more than
// mutex does: the resource itself counts the increments in a second register, so the difference
// between the two registers is the number of lost updates. Each increment does an equal part of the
// section's work between its read and its write, so another client can get in during any of them.
var counter = Workload{
	Name:  "counter",
	Doc:   "several increments under the lock; a second value counts them, so the difference of the two values is the number of lost updates",
	Suits: func(c history.Claims) bool { return !c.ReadWrite },
	body: func(h *hold) error {
		for range increments {
			if err := h.increment(increments); err != nil {
				return err
			}
		}
		return nil
	},
	values:  2,
	tallied: true,
}

// increments is the number of increments per critical section: enough for an interruption in the
// middle, few enough for a readable history.
const increments = 4
