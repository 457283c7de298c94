package corpus_test

// knownSurvivors are the findings of TestFindingsThatSurviveTheirOwnRemedyAreKnown, with the reason of each lock's.
var knownSurvivors = []struct {
	lock, why string
	findings  []string // "oracle by cause, or by one of several, under faults"
}{
	{"exists-set", "the cause is wrong: only an atomic take helps. Under failover also the node must be durable; under partition and slow-work the fault then hits nothing, so no effect counts", []string{
		"exclusion by foreign-delete+race under failover partition slow-work",
		"ownership by foreign-delete under chaos client-pause client-skew delay eviction failover hung-work lost-reply node-pause node-restart none partition partition-requests slow-work split-brain",
		"resource by foreign-delete+race under failover partition slow-work",
	}},
	{"fenced", "the key's owner is frozen and holds: the key is not without an owner", []string{
		"liveness by orphaned-key under client-pause",
	}},
	{"getset", "a hung holder touches nothing, and others go by the time in the key's value. Under client-pause a release and a late GETSET hit another's key: each remedy leaves what the other is against", []string{
		"all by lease-outlived under hung-work",
		"ownership by foreign-delete+foreign-renewal under client-pause",
	}},
	{"lua-setnx-expire-fraction", "with a key that expires the clients are too late for the fault, so that no effect counts", []string{
		"all by no-expiry under node-restart",
	}},
	{"redisson-renews-each-lease", "the node had lost the key", []string{
		"exclusion by renewal-failed+server-lost-key under chaos",
	}},
	{"redlock-delayed-restart", "nothing can remove a key from nodes that are down: no-orphan acts when they are back, and the client has been refused by then", []string{
		"all by orphaned-key under node-restart",
	}},
	{"redlock-naive", "with an owner check on renewal it is undecided whether the other gets in", []string{
		"liveness by foreign-renewal under client-crash",
	}},
	{"reentrant-hash", "the overlap is by a late command of an attempt that was over: no-orphan removes its key", []string{
		"exclusion by lease-outlived under node-pause",
	}},
	{"reentrant-renewal", "the node lost the key and the renewal failed: each remedy leaves what the other is against", []string{
		"exclusion by renewal-failed under split-brain",
		"resource by renewal-failed under split-brain",
	}},
	{"rw-hash", "readers overwrite each other's time: only a record for every reader helps, and no remedy gives one", []string{
		"all by foreign-delete under chaos hung-work",
		"all by orphaned-key under delay node-pause partition-replies",
		"exclusion by foreign-delete+race under client-crash client-pause lost-reply node-clock none partition-requests reset",
		"exclusion by foreign-delete+server-lost-key under split-brain",
		"exclusion by race under partition script-flush",
		"exclusion by race+server-lost-key under eviction",
		"ownership by foreign-delete under client-crash client-pause eviction lost-reply node-clock none partition partition-requests reset split-brain",
		"resource by foreign-delete+race under client-crash client-pause lost-reply node-clock none partition-requests reset",
		"resource by foreign-delete+server-lost-key under split-brain",
		"resource by race under partition script-flush",
		"resource by race+server-lost-key under eviction",
	}},
	{"rw-hash-owners", "owners are fields of a hash; the pause ends with the section's last touch, so that there is none to stop", []string{
		"resource by lease-outlived under client-pause slow-work",
	}},
	{"rw-two-keys", "readers have one key: only a record for every reader helps, and no remedy gives one", []string{
		"all by foreign-delete under hung-work split-brain",
		"all by orphaned-key under node-pause",
		"exclusion by foreign-delete under client-pause reset",
		"exclusion by foreign-delete+lease-outlived+race under slow-work",
		"exclusion by foreign-delete+race under client-skew lost-reply partition-replies partition-requests script-flush",
		"exclusion by foreign-delete+race+server-lost-key under eviction failover node-restart",
		"liveness by orphaned-key under delay partition partition-requests",
		"ownership by foreign-delete under client-crash client-pause client-skew delay eviction failover lost-reply node-clock node-restart partition-replies partition-requests reset script-flush slow-work",
		"resource by foreign-delete under client-pause reset",
		"resource by foreign-delete+lease-outlived+race under slow-work",
		"resource by foreign-delete+race under client-skew lost-reply partition-replies partition-requests script-flush",
		"resource by foreign-delete+race+server-lost-key under eviction failover node-restart",
	}},
	{"set-nx-ex-bounded-renewal", "the node lost the key and the renewal failed: each remedy leaves what the other is against", []string{
		"all by renewal-failed under split-brain",
		"exclusion by renewal-failed+server-lost-key under eviction",
		"resource by renewal-failed+server-lost-key under eviction",
	}},
	{"set-nx-px-watchdog", "the split lost the key and the renewal failed: each remedy leaves what the other is against", []string{
		"exclusion by renewal-failed+server-lost-key under split-brain",
		"resource by renewal-failed+server-lost-key under split-brain",
	}},
	{"setnx-expire", "what took the key first is behind the DEL: the end of the lease, or under failover the node, where its EXPIRE hits another's key too; under client-pause the key's owner is frozen and holds", []string{
		"exclusion by foreign-delete+server-lost-key under chaos",
		"liveness by orphaned-key under client-pause",
		"ownership by foreign-delete under failover",
		"resource by foreign-delete+server-lost-key under chaos",
	}},
	{"setnx-expire-multi", "a foreign DEL and a foreign EXPIRE at once, after a key was lost: each remedy leaves what the other is against", []string{
		"ownership by foreign-delete+foreign-renewal under eviction failover node-clock node-restart split-brain",
	}},
	{"setnx-expire-pipeline", "a foreign DEL and a foreign EXPIRE at once, after a key was lost: each remedy leaves what the other is against", []string{
		"ownership by foreign-delete+foreign-renewal under eviction failover node-clock node-restart split-brain",
	}},
	{"setnx", "a hung holder never gives its key back: with a key that expires it is undecided whether the others wait", []string{
		"all by no-expiry under hung-work",
	}},
	{"setnx-takeover-del", "a hung holder touches nothing, and others go by the time in the key's value; under chaos the key's owner has crashed", []string{
		"exclusion by lease-outlived under hung-work",
		"liveness by orphaned-key under chaos",
	}},
}
