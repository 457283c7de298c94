package main

import (
	"slices"

	"github.com/lockstorm/lockstorm/locks"
)

// measured declares a bug that campaigns found: one flaw for each oracle, all with the same cause.
// The parameter faults lists the faults under which campaigns found the bug. The bug need not show
// in every run: the seed decides.
func measured(cause, why, source string, faults []string, oracles ...string) []locks.Flaw {
	var all []locks.Flaw
	for _, oracle := range oracles {
		all = append(all, locks.Flaw{Oracle: oracle, Cause: cause, Kind: locks.Bug, Why: why, Source: source, Also: slices.Clone(faults)})
	}
	return all
}

// flaws returns the limits of any lease of this kind, and the bugs that campaigns found in the
// variant.
func (v goZeroVariant) flaws() []locks.Flaw {
	renews := v.id == "go-zero-renewal"
	all := locks.Limits(locks.Known{Renews: renews, Reentrant: v.shared})
	all = append(all, measured("lease-outlived",
		"The same object acquires a lock again that ended under it and that another has had since, and is told that its lease goes on.",
		goZeroDocs, []string{"client-pause", "node-pause"}, "extension")...)
	if !v.shared {
		all = append(all, measured("lease-outlived",
			"The library looks at no clock and waits up to 5 s for each of four answers: an answer that comes after the key has expired counts as a grant.",
			goZeroDocs, []string{"delay"}, "exclusion", "resource")...)
	}
	switch {
	case v.shared:
		all = append(all, reentrantFlaws()...)
	case renews:
		all = append(all, measured("renewal-failed", "Nothing in the library renews a lock.",
			goZeroDocs+`: "automatic renewal"`, []string{"none", "slow-work", "lost-reply", "delay"}, "exclusion", "resource")...)
	case v.unset:
		all = append(all, measured("lease-outlived", "Without SetExpire a key lives for 500 ms.",
			goZeroDocs+`: "Default expiration time of 1500 ms"`, []string{"none"}, "exclusion", "resource")...)
	}
	return all
}

// reentrantFlaws returns the flaws of a client that uses one RedisLock for all its acquisitions.
func reentrantFlaws() []locks.Flaw {
	const uncounted = "Entries are not counted: the first release of several removes the key, and others get in."
	disturbed := []string{"client-pause", "partition", "lost-reply", "delay", "reset", "node-pause"}
	all := slices.Concat(
		measured("race", uncounted, goZeroDocs+`: "Can reenter"`, append([]string{"none", "slow-work"}, disturbed...), "reentrancy"),
		measured("race", uncounted, goZeroDocs+`: "Can reenter"`, disturbed, "exclusion"),
		measured("late-command", "All leases of an object have one value: a release that arrives late removes the client's next lease.",
			goZeroDocs+`: "Random version number, prevent outdated releases"`, []string{"delay"}, "exclusion", "resource"),
	)
	cutOff := measured("lease-outlived", "A holder whose re-entries or releases get no answer for longer than the lease goes on believing.",
		goZeroDocs, []string{"reset"}, "exclusion", "resource")
	for i := range cutOff {
		cutOff[i].Kind = locks.Limit
	}
	return append(all, cutOff...)
}
