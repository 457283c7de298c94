package locks

import "slices"

// Sources that several flaws are declared with.
const (
	kleppmann   = `M. Kleppmann, "How to do distributed locking" (2016): a client that pauses or is delayed cannot know that its lease ended`
	redisOwner  = `redis.io, "Distributed Locks with Redis": "avoid removing a lock that was created by another client"`
	redisFailed = `redis.io, "Distributed Locks with Redis": "Why Failover-based Implementations Are Not Enough"`
)

// flaws joins groups of flaws.
func flaws(groups ...[]Flaw) []Flaw { return slices.Concat(groups...) }

// under declares one flaw per oracle, alike in everything else. Faults are
// those to look under, the most telling first.
func under(faults []string, cause string, kind Kind, why, source string, oracles ...string) []Flaw {
	group := make([]Flaw, 0, len(oracles))
	for _, oracle := range oracles {
		group = append(group, Flaw{Oracle: oracle, Cause: cause, Kind: kind, Why: why, Source: source, Faults: faults})
	}
	return group
}

// leaseOutlived: a key with a life and no deadline of the lease's own.
func leaseOutlived() []Flaw {
	return under([]string{"client-pause", "delay"}, "lease-outlived", Limit,
		"A holder that is frozen, or is told late, for longer than the lease goes on believing while the key expires and another gets in.",
		kleppmann, "exclusion", "resource")
}

// serverLostKey: one node, or its replicas, that forget an acknowledged key.
func serverLostKey() []Flaw {
	return under([]string{"node-restart", "failover"}, "server-lost-key", Limit,
		"A node that restarts without its data, or a replica that is promoted before the key reached it, grants the lock again.",
		redisFailed, "exclusion", "resource")
}

// orphanedKey: a key with a life that nobody releases.
func orphanedKey() []Flaw {
	return under(strandingFaults, "orphaned-key", Limit,
		"A key whose holder crashed, never learnt of its grant or could not send its release keeps others out until it expires.",
		`redis.io, "Distributed Locks with Redis": liveness rests on keys that expire`, "liveness")
}

// anyFault is where to look for what needs no fault at all.
var anyFault = []string{"none", "client-pause", "delay", "client-crash", "lost-reply", "partition", "partition-requests",
	"partition-replies", "reset", "node-pause", "node-restart", "failover", "client-skew", "script-flush"}

// strandingFaults leave a key behind that nobody will release: the holder is
// gone, the grant's reply or the release got lost, or a request ran after its
// sender had given up.
var strandingFaults = []string{"client-crash", "lost-reply", "partition", "partition-requests", "partition-replies",
	"delay", "reset", "node-pause", "node-restart", "failover"}

// foreignDelete: a DEL that does not ask whose key it removes.
func foreignDelete(why, source string, faults ...string) []Flaw {
	return under(faults, "foreign-delete", Bug, why, source, "ownership", "exclusion", "resource")
}

// bareDelete: foreignDelete and lateDelete of a key with a life.
func bareDelete(document string) []Flaw {
	return flaws(
		foreignDelete(
			"A bare DEL that is sent after the lease was overrun, delivered late, or sent after the node lost the key removes another's lock and lets a third in.",
			document+"; "+redisOwner, "client-pause", "delay", "node-pause", "node-restart", "failover"),
		lateDelete(document),
	)
}

// lateDelete: a release that cannot tell its own client's leases apart.
func lateDelete(document string) []Flaw {
	return under([]string{"delay"}, "late-command", Bug,
		"A release that arrives after its client gave up on it and holds the lock again removes the new lease and lets another in.",
		document, "exclusion", "resource")
}

// noExpiry: a key without a life that nobody releases.
func noExpiry(why, document string) []Flaw {
	return under(strandingFaults, "no-expiry", Bug, why, document, "liveness")
}
