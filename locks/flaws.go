package locks

import "slices"

// Sources shared by several flaws.
const (
	kleppmann   = `M. Kleppmann, "How to do distributed locking" (2016): a client that pauses or is delayed cannot know that its lease ended`
	redisOwner  = `redis.io, "Distributed Locks with Redis": "avoid removing a lock that was created by another client"`
	redisFailed = `redis.io, "Distributed Locks with Redis": "Why Failover-based Implementations Are Not Enough"`
	redisClock  = `redis.io, "Distributed Locks with Redis": "Disclaimer about consistency": Redis counts lives by no monotonic clock`
)

func flaws(groups ...[]Flaw) []Flaw { return slices.Concat(groups...) }

// under declares one flaw for each oracle; the flaws differ only in the oracle. Every complete run
// must find the flaws under each of the faults except mixed. Name first the fault that shows the flaws
// best: campaigns take their example of a flaw from the first fault that showed it.
func under(faults []string, cause string, kind Kind, why, source string, oracles ...string) []Flaw {
	group := make([]Flaw, 0, len(oracles))
	for _, oracle := range oracles {
		group = append(group, Flaw{Oracle: oracle, Cause: cause, Kind: kind, Why: why, Source: source, Faults: faults})
	}
	return group
}

// may returns the group with the faults as Also: under them the flaws may show by chance, but need
// not. A flaw's Also leaves out its own Faults.
func may(faults []string, group ...[]Flaw) []Flaw {
	all := flaws(group...)
	for i := range all {
		all[i].Also = without(faults, all[i].Faults...)
	}
	return all
}

// rarely returns the group with one change: the flaw with that oracle and cause may, but need not,
// show under these faults. The seed decides whether a fault strikes at the moment that shows the
// flaw.
func rarely(oracle, cause string, faults []string, group ...[]Flaw) []Flaw {
	all := slices.Clone(flaws(group...))
	for i, f := range all {
		if f.Oracle == oracle && f.Cause == cause {
			all[i].Faults, all[i].Also = without(f.Faults, faults...), append(without(f.Also, faults...), faults...)
		}
	}
	return all
}

// mixed is the fault of flaws that need several faults at once. It combines faults at random. So it
// is no discrepancy if a run does not find such a flaw.
const mixed = "chaos"

// anyFault lists all faults except mixed, for flaws that need no fault.
var anyFault = []string{"none", "client-crash", "client-pause", "slow-work", "hung-work", "partition", "partition-requests", "partition-replies", "lost-reply", "delay", "reset",
	"node-pause", "node-restart", "failover", "split-brain", "client-skew", "node-clock", "script-flush", "eviction", slotMigration}

// slotMigration is the only fault that needs a Redis Cluster.
const slotMigration = "slot-migration"

// strandingFaults leave a key behind that nobody will release: the holder is gone, the grant's
// reply or the release is lost, a request runs after its sender has given up, or the release goes
// to a node without the key.
var strandingFaults = []string{"client-crash", "lost-reply", "partition", "partition-requests", "partition-replies",
	"delay", "reset", "node-pause", "node-restart", "failover", "split-brain"}

// lostReplies are faults that lose or greatly delay a reply, while the node answers the next
// command.
var lostReplies = []string{"lost-reply", "delay", "reset"}

// losingFaults make a node forget an acknowledged key, or let such a node serve clients while
// another node still has the key.
var losingFaults = []string{"node-restart", "failover", "eviction", "split-brain"}

func without(faults []string, these ...string) []string {
	return slices.DeleteFunc(slices.Clone(faults), func(f string) bool { return slices.Contains(these, f) })
}

// leaseOutlived returns the flaws that show when a client without a deadline outlives its lease:
// the key expires and the client is not told. A client that is frozen for longer than the lease
// shows them. A late reply shows them only by chance, because a critical section and a wait for a
// reply each take only a fraction of the lease.
func leaseOutlived() []Flaw {
	return may(delayingFaults, under([]string{"client-pause"}, "lease-outlived", Limit,
		"A holder that is frozen for longer than the lease still believes that it holds the lock, while the key expires and another client gets in.",
		kleppmann, "exclusion", "resource"))
}

// workOutlived returns the flaws that show when the work takes longer than a lease that nobody
// renews. A holder whose work hangs believes for ever that it holds the lock. If the work hangs
// between two writes, the resource oracle sees the violation too.
func workOutlived(document string) []Flaw {
	const why = "A holder that works for longer than the lease, without renewal, still believes that it holds the lock, while the key expires and another client gets in."
	return flaws(
		under([]string{"slow-work", "hung-work"}, "lease-outlived", Limit, why, document+"; "+kleppmann, "exclusion"),
		may([]string{"hung-work"}, under([]string{"slow-work"}, "lease-outlived", Limit, why, document+"; "+kleppmann, "resource")),
	)
}

// hungHolder returns the flaw that shows when a holder's work hangs: the watchdog renews the lease
// for ever.
func hungHolder(document string) []Flaw {
	return under([]string{"hung-work"}, "hung-holder", Limit,
		"A watchdog cannot tell work that hangs from work that is slow: it keeps the lease of a holder that never comes back, and everybody else out, for ever.",
		document+"; D3: work that blocks for ever keeps the lock", "liveness")
}

// delayingFaults are faults that show leaseOutlived only by chance: they delay a client's reply, and
// the client outlives its lease if it has already used up much of the lease.
var delayingFaults = []string{"node-pause"}

// deadlineCheckedTooEarly is leaseOutlived for a lease with a deadline. The holder checks the
// deadline, is then frozen or works until the deadline is past, and then writes to the resource
// without another check. The holder's belief ended in time, but its write comes too late. If the
// holder's clock is also set back, even a check that comes too late does not stop the write.
func deadlineCheckedTooEarly() []Flaw {
	return may(append([]string{"client-skew"}, delayingFaults...), under([]string{"client-pause", "slow-work"}, "lease-outlived", Limit,
		"A holder that looks at its clock, and is then frozen or at work until its deadline is past, touches the resource too late; its belief ended in time.",
		kleppmann, "resource"))
}

// deadlineMoved returns the flaws that show when a holder's wall clock, which decides its deadline,
// is set back.
func deadlineMoved(oracles ...string) []Flaw {
	return under([]string{"client-skew"}, "client-clock", Limit,
		"A frozen holder whose wall clock is set back sees no deadline pass and runs no timer: after the key has expired it still believes that it holds the lock, until it thaws.",
		`redis.io, "Distributed Locks with Redis": "Disclaimer about consistency"`, oracles...)
}

// serverLostKey returns the flaws that show when a node loses an acknowledged key, or when the
// replica that replaces the node does not have that key. Without oracles it returns the flaws of
// "exclusion" and "resource".
func serverLostKey(oracles ...string) []Flaw {
	if len(oracles) == 0 {
		oracles = []string{"exclusion", "resource"}
	}
	return under(losingFaults, "server-lost-key", Limit,
		"A node that restarts without its data or evicts the key grants the lock again; so does a replica that becomes primary, alone or beside the old one, before the key or its renewals reached it.",
		redisFailed, oracles...)
}

// extendedByOldPrimary returns the flaw of two primaries: the old one extends a lease although the new
// one has granted the lock to another client. Only a lock with an Extend operation can show it.
func extendedByOldPrimary() []Flaw {
	return may([]string{"failover", "split-brain"}, under([]string{mixed}, "server-lost-key", Limit,
		"The old one of two primaries extends the lease of a holder although the new one has granted the lock to another.",
		redisFailed, "extension"))
}

// quorumLostKey returns the flaws that show when independent nodes lose an acknowledged key.
func quorumLostKey(faults ...string) []Flaw {
	return under(faults, "server-lost-key", Limit,
		"Nodes that restarted without their data, or evicted the key, vote again: if the holder's majority had no node to spare, another majority grants the lock beside it.",
		`redis.io, "Distributed Locks with Redis": "Performance, Crash Recovery and fsync"`, "exclusion", "resource")
}

// serverClock returns the flaws that show when a node's wall clock jumps forward: the key expires
// early. Without oracles it returns the flaws of "exclusion" and "resource".
func serverClock(oracles ...string) []Flaw {
	if len(oracles) == 0 {
		oracles = []string{"exclusion", "resource"}
	}
	return under([]string{"node-clock"}, "server-clock", Limit,
		"A node whose wall clock jumps forward lets the key expire early, and grants the lock to another although its holder is well within the lease; with several nodes, a majority grants it.",
		redisClock, oracles...)
}

// prolongedKey returns the flaw that shows when a node's clock is set back: a key that nobody
// releases lives longer. The flaw needs two faults at once.
func prolongedKey() []Flaw {
	return under([]string{mixed}, "server-clock", Limit,
		"If a node's wall clock is set back after a key was set, and the key's holder is gone, the key keeps others out for that much longer.",
		redisClock, "liveness")
}

// staleTime returns the flaw of a lock whose key holds a time by its owner's clock. The flaw needs
// two faults at once: the owner's clock was ahead, and the owner does not release the key.
func staleTime(document string) []Flaw {
	return may([]string{"client-skew"}, under([]string{mixed}, "client-clock", Bug,
		"A dead holder whose clock was far ahead left a time in the key, which keeps others out until their own clocks show it; Redis could have counted the time.",
		document+": clients' clocks must agree", "liveness"))
}

// orphanedKey returns the flaw that shows when nobody releases a key: the key keeps others out
// until it expires. A client that is frozen before it learns of its grant also keeps others out
// needlessly.
func orphanedKey() []Flaw {
	return orphanedUnder(slices.Concat(strandingFaults, []string{"client-pause"}))
}

// clientClockFaults are faults that set a client's clock. Some of their schedules also freeze the client,
// which may then never learn of its grant.
var clientClockFaults = []string{"client-skew"}

// orphanedUnder returns the limit that an abandoned key keeps others out until it expires. The
// limit must show under the given faults.
func orphanedUnder(faults []string) []Flaw {
	return under(faults, "orphaned-key", Limit,
		"A key whose holder crashed, never learnt of its grant or could not send its release keeps others out until it expires.",
		`redis.io, "Distributed Locks with Redis": liveness rests on keys that expire`, "liveness")
}

// foreignDelete returns the flaws of a DEL that does not check the key's owner.
func foreignDelete(why, source string, faults ...string) []Flaw {
	return under(faults, "foreign-delete", Bug, why, source, "ownership", "exclusion", "resource")
}

// bareDelete returns the flaws of a bare DEL of a key that expires: foreignDelete and lateDelete.
func bareDelete(document string) []Flaw {
	return flaws(
		may([]string{"node-pause", "split-brain"}, foreignDelete(
			"A bare DEL removes another's lock and lets a third in if it is sent after the lease was overrun or the node lost the key, or if it is delivered late.",
			document+"; "+redisOwner, "client-pause", "slow-work", "delay", "node-restart", "failover", "eviction", "node-clock")),
		lateDelete(document),
	)
}

// lateDelete returns the flaws of a release that cannot distinguish two leases of the same client.
func lateDelete(document string) []Flaw {
	return under([]string{"delay"}, "late-command", Bug,
		"A release that arrives after its client gave up on it and holds the lock again removes the new lease and lets another in.",
		document, "exclusion", "resource")
}

// noExpiry returns the flaw that shows when nobody releases a key that never expires.
func noExpiry(why, document string) []Flaw {
	return under(append([]string{"hung-work"}, strandingFaults...), "no-expiry", Bug, why, document, "liveness")
}
