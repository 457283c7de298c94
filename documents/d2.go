package documents

// d2 are the items of "Distributed lock by Redis".
var d2 = []Item{
	{
		Claim, "SET makes acquiring and setting the life one atomic step.", []string{"set-nx-px"},
		[]Command{shows("set-nx-px", "client-crash", mutex, "release.n0.1.before-1of2", orphanedKey)}, "Confirmed: a crash blocks others up to the lease, never for ever.",
	},
	{
		Listing, "SET's options: EX, PX, EXAT, PXAT, NX, XX, KEEPTTL, GET.", []string{"set-nx-px", "set-nx-ex"},
		[]Command{here("TestD2OptionsOfSet")}, "Each does what the document says, on a real server of 6.2 or later. NX beside GET needs 7.0.",
	},
	{
		Listing, "The layout of the reentrant lock: the key is the lock, the field its holder, the value the number of entries.", []string{"reentrant-hash"},
		[]Command{ofLocks("TestNAcquiresNeedNReleases")}, "Implemented.",
	},
	{
		Listing, "Acquire as a Lua script: free or own: HINCRBY 1 and EXPIRE, else 0; the application tries again.", []string{"reentrant-hash"},
		[]Command{holds("reentrant-hash", "none", reentrant), ofLocks("TestALostReplyAndARetryCountTwice")},
		"Implemented; without a fault it holds. A retry after a lost reply counts twice, and then as many releases as the client knows of entries leave the lock shut until its life ends.",
	},
	{
		Listing, "The transcript of three entries: 1, TTL, 1, TTL, 1, and HGET says \"3\".", []string{"reentrant-hash"},
		[]Command{here("TestD2Transcript")}, "Replayed on a real server: every answer is the document's; TTLs are at most the 300 s set, and each entry renews them.",
	},
	{
		Claim, "So a reentrant lock can be made.", []string{"reentrant-hash"},
		[]Command{ofLocks("TestNAcquiresNeedNReleases"), holds("reentrant-hash", "none", reentrant)}, "Confirmed, with the count in Redis; it refutes D3's statement that Redis can do nothing about it.",
	},
	{
		Claim, "One command is atomic, so that only one thread gets the resource at a time.", []string{"set-nx-px"},
		[]Command{holds("set-nx-px", "none", mutex), shows("set-nx-px", "slow-work", mutex, "hold.little-1of2", leaseOutlived)}, "Confirmed for the grant; not for the work that outlasts the lease.",
	},
	{
		Claim, "A release deletes the key, after it has made sure of the holder by the value.", []string{"set-nx-px", "set-nx-ex"},
		[]Command{shows("set-nx-ex", "client-pause", mutex, "release.n0.1.before-1of2", foreignDelete), holds("set-nx-px", "client-pause", mutex, "release.n0.1.before-1of2")},
		"Shown by its absence: without the check another's lock goes, with it none does.",
	},
	{
		Claim, "No single command compares and deletes, so that it takes Lua.", []string{"set-nx-px", "set-nx-ex-get-del"},
		[]Command{shows("set-nx-ex-get-del", "client-pause", mutex, "release.n0.2.before-1of2", foreignDelete)},
		"True of the Redis of the document: two commands remove another's lock. Since Redis 8.4, `DELEX key IFEQ value` is that command (redis.io, DELEX); before, WATCH and MULTI do it too.",
	},
	{
		Listing, "Compare and delete in Lua, with its transcript: nil and 0 without a key, OK and 1 with the own value.", []string{"set-nx-px"},
		[]Command{here("TestD2Transcript")}, "Replayed on a real server: every answer is the document's.",
	},
	{
		Listing, "Release of the reentrant lock in Lua: not own: nil; HINCRBY −1 is 0: DEL and 1; else 0.", []string{"reentrant-hash"},
		[]Command{ofLocks("TestNAcquiresNeedNReleases")}, "Implemented: n entries need n releases.",
	},
	{
		Listing, "Its transcript: nil without a lock; 1 after one entry; \"3\" after three, and 0, 0, 1 for three releases.", []string{"reentrant-hash"},
		[]Command{here("TestD2Transcript")}, "Replayed on a real server: every answer is the document's.",
	},
	{
		Scenario, "Thread 2 maliciously releases thread 1's lock: it is refused.", []string{"reentrant-hash"},
		[]Command{here("TestD2Transcript"), ofLocks("TestOwnersOfOneNameAreDifferentOwners")},
		"Confirmed: nil, and the count stays 3. It protects from mistakes, not from malice: a client that sends thread 1's field counts as thread 1.",
	},
	{
		Scenario, "Code that takes longer than the key's life leads to concurrency problems.", []string{"reentrant-hash"},
		[]Command{shows("reentrant-hash", "slow-work", mutex, "hold.little-1of2", leaseOutlived), Measured{"renewal", "hash"}}, "Shown.",
	},
	{
		Listing, "Automatic renewal 1.0: a timer and a script, HEXISTS and EXPIRE, else 0.", []string{"reentrant-hash-watchdog"},
		[]Command{ofLocks("TestOwnerCheckedWatchdogRenews"), ofLocks("TestOwnerCheckedWatchdogLeavesAnothersKeyAloneAndEnds"), holds("reentrant-hash-watchdog", "slow-work", mutex, "hold.little-1of2")},
		"Implemented; it renews its own lock only.",
	},
	{
		Claim, "Renewal keeps the resource valid until the owner releases it.", []string{"reentrant-hash-watchdog"},
		[]Command{
			shows("reentrant-hash-watchdog", "partition", mutex, "read.n0.1.before-1of2", renewalFailed), shows("reentrant-hash-watchdog", "hung-work", mutex, "hold-1of2", hungHolder),
			shows("reentrant-hash-watchdog", "lost-reply", mutex, "acquire.n0.1.before-1of2", Flaw{"liveness", "foreign-renewal"}),
		},
		"Refuted by a partition that outlasts the lease. And where it is true it has a price: an owner that never releases, because it hangs or never learnt of its grant, keeps the lock for ever.",
	},
}
