package locks

import "slices"

// Sources shared by several flaws.
const (
	kleppmann   = `M. Kleppmann, "How to do distributed locking" (2016): a client that pauses or is delayed cannot know that its lease ended`
	redisOwner  = `redis.io, "Distributed Locks with Redis": "avoid removing a lock that was created by another client"`
	redisFailed = `redis.io, "Distributed Locks with Redis": "Why Failover-based Implementations Are Not Enough"`
	redisClock  = `redis.io, "Distributed Locks with Redis": "Disclaimer about consistency": Redis counts lives by no monotonic clock`
)

// flaws joins groups of flaws.
func flaws(groups ...[]Flaw) []Flaw { return slices.Concat(groups...) }

// under declares one flaw per oracle with the same properties. Faults are those under
// which it must be found, the most telling first.
func under(faults []string, cause string, kind Kind, why, source string, oracles ...string) []Flaw {
	group := make([]Flaw, 0, len(oracles))
	for _, oracle := range oracles {
		group = append(group, Flaw{Oracle: oracle, Cause: cause, Kind: kind, Why: why, Source: source, Faults: faults})
	}
	return group
}

// may adds faults under which the flaws may show: when chance adds to the fault's
// effects.
func may(faults []string, group ...[]Flaw) []Flaw {
	all := flaws(group...)
	for i := range all {
		all[i].Also = without(faults, all[i].Faults...)
	}
	return all
}

// mixed is for flaws that take more than one fault: if chance did not combine them,
// nothing is missed.
const mixed = "chaos"

// anyFault is for flaws that need no fault at all.
var anyFault = []string{"none", "client-crash", "client-pause", "partition", "partition-requests", "partition-replies", "lost-reply", "delay", "reset",
	"node-pause", "node-restart", "failover", "split-brain", "client-skew", "node-clock", "script-flush", "eviction", slotMigration}

// slotMigration is the only fault that needs a Redis Cluster.
const slotMigration = "slot-migration"

// strandingFaults leave a key behind that nobody will release: the holder is gone, the
// grant's reply or the release got lost, a request ran after its sender had given up,
// or the key is on another node than the release.
var strandingFaults = []string{"client-crash", "lost-reply", "partition", "partition-requests", "partition-replies",
	"delay", "reset", "node-pause", "node-restart", "failover", "split-brain"}

// losingFaults make a node forget an acknowledged key, or serve beside one that
// has it.
var losingFaults = []string{"node-restart", "failover", "eviction", "split-brain"}

// without returns faults without these.
func without(faults []string, these ...string) []string {
	return slices.DeleteFunc(slices.Clone(faults), func(f string) bool { return slices.Contains(these, f) })
}

// leaseOutlived: a key that expires, and a lease without a deadline of its own. Only a
// frozen client overruns it: holds are a fraction of a lease, and a client that waits
// for a reply gives up before.
func leaseOutlived() []Flaw {
	return may(slowNodes, under([]string{"client-pause"}, "lease-outlived", Limit,
		"A holder that is frozen for longer than the lease goes on believing while the key expires and another gets in.",
		kleppmann, "exclusion", "resource"))
}

// slowNodes are faults under which a client that is also late, but within its lease,
// may outlive it.
var slowNodes = []string{"node-pause"}

// deadlineLookedAtTooEarly: leaseOutlived of a lease with a deadline, which ends the
// belief but not a touch under way. After a clock is set back, a holder may check
// again, and touch.
func deadlineLookedAtTooEarly() []Flaw {
	return may(append([]string{"client-skew"}, slowNodes...), under([]string{"client-pause"}, "lease-outlived", Limit,
		"A holder that is frozen past its deadline, between a look at its clock and the next touch, disturbs the resource; its belief ended in time.",
		kleppmann, "resource"))
}

// deadlineMoved: a deadline is an instant of the client's wall clock.
func deadlineMoved(oracles ...string) []Flaw {
	return under([]string{"client-skew"}, "client-clock", Limit,
		"A holder that is frozen while its wall clock is set back has neither a deadline that comes nor a timer that runs, and believes past the key's end until it goes on.",
		`redis.io, "Distributed Locks with Redis": "Disclaimer about consistency"`, oracles...)
}

// serverLostKey: one node, or its replicas, forget an acknowledged key.
func serverLostKey(oracles ...string) []Flaw {
	if len(oracles) == 0 {
		oracles = []string{"exclusion", "resource"}
	}
	return under(losingFaults, "server-lost-key", Limit,
		"A node that restarts without its data or evicts the key, or a replica that becomes primary, alone or beside the old one, before the key or its renewals reached it, grants the lock again.",
		redisFailed, oracles...)
}

// quorumLostKey: independent nodes forget an acknowledged key.
func quorumLostKey(faults ...string) []Flaw {
	return under(faults, "server-lost-key", Limit,
		"Nodes that restart without their data or evict the key vote again: with them, another majority grants the lock of a holder who had no node to spare.",
		`redis.io, "Distributed Locks with Redis": "Performance, Crash Recovery and fsync"`, "exclusion", "resource")
}

// serverClock: a node expires the key by its wall clock.
func serverClock(oracles ...string) []Flaw {
	if len(oracles) == 0 {
		oracles = []string{"exclusion", "resource"}
	}
	return under([]string{"node-clock"}, "server-clock", Limit,
		"A node whose wall clock jumps forward lets the key expire early and grants the lock of a holder who is well within its lease; of several nodes, a majority.",
		redisClock, oracles...)
}

// prolongedKey: serverClock in the other direction, for a key that nobody releases. It
// takes two faults at once.
func prolongedKey() []Flaw {
	return under([]string{mixed}, "server-clock", Limit,
		"A key whose holder is gone keeps others out for as much longer as its node's wall clock is set back, after the key was set.",
		redisClock, "liveness")
}

// staleTime: the lock's key holds a time of its owner's clock, and the owner does not
// release it. It takes two faults at once.
func staleTime(document string) []Flaw {
	return may([]string{"client-skew"}, under([]string{mixed}, "client-clock", Bug,
		"The time that a dead holder's clock, far ahead, left in the key keeps others out until their own clocks show it; Redis could have timed it.",
		document+": clients' clocks must agree", "liveness"))
}

// orphanedKey: a key that expires and that nobody releases. A client that is frozen
// before it learns of its grant also keeps others out, for nothing.
func orphanedKey() []Flaw {
	return orphanedUnder(slices.Concat(strandingFaults, []string{"client-pause"}))
}

// slowClocks are faults under which a client that is also frozen, while its clock is
// wrong, may never learn of its grant.
var slowClocks = []string{"client-skew"}

func orphanedUnder(faults []string) []Flaw {
	return under(faults, "orphaned-key", Limit,
		"A key whose holder crashed, never learnt of its grant or could not send its release keeps others out until it expires.",
		`redis.io, "Distributed Locks with Redis": liveness rests on keys that expire`, "liveness")
}

// foreignDelete: a DEL that does not check whose key it removes.
func foreignDelete(why, source string, faults ...string) []Flaw {
	return under(faults, "foreign-delete", Bug, why, source, "ownership", "exclusion", "resource")
}

// bareDelete: foreignDelete and lateDelete of a key that expires.
func bareDelete(document string) []Flaw {
	return flaws(
		may([]string{"node-pause", "split-brain"}, foreignDelete(
			"A bare DEL that is sent after the lease was overrun, delivered late, or sent after the node lost the key removes another's lock and lets a third in.",
			document+"; "+redisOwner, "client-pause", "delay", "node-restart", "failover", "eviction", "node-clock")),
		lateDelete(document),
	)
}

// lateDelete: a release that cannot tell its own client's leases apart.
func lateDelete(document string) []Flaw {
	return under([]string{"delay"}, "late-command", Bug,
		"A release that arrives after its client gave up on it and holds the lock again removes the new lease and lets another in.",
		document, "exclusion", "resource")
}

// noExpiry: a key that never expires and that nobody releases.
func noExpiry(why, document string) []Flaw {
	return under(strandingFaults, "no-expiry", Bug, why, document, "liveness")
}
