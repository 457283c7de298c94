package documents

// d3Java are the items about the Java lock and its tests.
var d3Java = []Item{
	{
		Listing, "The Java lock: a count per thread and key; only the first entry asks Redis (SET NX EX).", []string{"reentrant-local", "reentrant-renewal"},
		[]Command{ofLocks("TestLocalReentryNeverAsksRedis"), ofLocks("TestASlowCallForOneKeyHoldsUpTheCallsForAllOthers"), ofLocks("TestErrorsAreBusyAndReleasesSucceedRegardless"), ofLocks("TestLocalReentryEntersWhatAnotherHolds"), shows("reentrant-local", "slow-work", reentrant, "hold.little-2of3", Flaw{"reentrancy", "lease-outlived"})},
		"Implemented, without renewal and as the whole class with it. After the lease its owner \"re-enters\" a lock that another holds; errors read as busy, and a slow call for one key holds up all others.",
	},
	{
		Listing, "Its renewal: a script at once and then behind each sleep of a whole lease, four times; one flag for all keys, ten threads.", []string{"set-nx-ex-bounded-renewal", "reentrant-renewal"},
		[]Command{
			ofLocks("TestBoundedRenewalComesAfterWholeLeasesFourTimes"), ofLocks("TestReleasingOneLockEndsTheRenewalOfAllOthersOfTheClient"),
			ofLocks("TestAFailingRenewalSpinsUncountedUntilTheClientProcessEnds"), drawn("set-nx-ex-bounded-renewal", "none", mutex, renewalFailed),
			drawn("set-nx-ex-bounded-renewal", "none", "two-locks", renewalFailed), ofLocks("TestTheEleventhRenewalWaitsForAThreadAndItsLockExpires"),
			with(drawn("reentrant-renewal", "none", mutex, renewalFailed), "--clients 2 --hold 2ms --rest 1ms --overrun 0.02"),
			shows("reentrant-renewal", "slow-work", reentrant, "hold.five-2of3", Flaw{"reentrancy", "renewal-failed"}),
		},
		"Implemented. Each renewal races the key's end; releasing one lock ends the renewal of all others; an error makes it spin, uncounted and without a pause; the eleventh renewal waits for a thread while its lock expires.",
	},
	{
		Listing, "Its release: count down; at 0 the entry goes, the renewal stops, and the script compares and deletes.", []string{"reentrant-local"},
		[]Command{ofLocks("TestLocalLastEntryGoesBeforeTheReleaseWhateverComesOfIt")}, "Implemented. The entry goes first, so that a release whose command fails can never be tried again, and the key stays for its lease.",
	},
	{
		Listing, "isLocking: GET, and whether it is the own value.", []string{"is-locking-after-lock", "set-nx-ex-get-del"},
		[]Command{
			shows("is-locking-after-lock", "lost-reply", mutex, "acquire.n0.1.before-1of2", orphanedKey), ofLocks("TestIsLockingFindsAGrantWhoseReplyWasLostAndUnLockRefusesIt"),
			shows("set-nx-ex-get-del", "client-pause", mutex, "release.n0.2.before-1of2", foreignDelete),
		},
		"It finds a grant whose reply was lost, but the map has no entry for it, so that unLock refuses, and the key stays for its lease. And the answer is true only at the moment when the server gave it: a client that acts on it later, as the release by GET and DEL does, may remove another client's key.",
	},
	{
		Listing, "RedisUtil.execute: on a connection error the same call runs once more, on the same connection.", []string{"set-nx-ex-retry"},
		[]Command{shows("set-nx-ex-retry", "lost-reply", mutex, "acquire.n0.1.before-1of2", orphanedKey), ofLocks("TestARepeatedSetIsRefusedByItself"), ofLocks("TestACallIsRepeatedOnceAndOnlyAfterAConnectionError")},
		"A broken connection mostly breaks again. If the second call comes through and only the first one's reply was lost, SET NX finds its own key and says busy: nobody holds the lock until the lease ends.",
	},
	{
		Listing, "Test 1: one thread locks and unlocks; another one's lock and unlock fail.", []string{"reentrant-local"},
		[]Command{holds("reentrant-local", "none", "d3-test-basic")},
		"Holds. The test itself proves less: assertions in the other thread fail no JUnit test.",
	},
	{
		Listing, "Test 2: ten threads compete and hold the lock for 10 s each, in a loop without an end.", []string{"reentrant-local", "set-nx-ex"},
		[]Command{
			holds("reentrant-local", "none", "d3-test-lock"), with(drawn("set-nx-ex", "none", "d3-test-lock", foreignDelete), "--lock-tokens client --ttl 10s --duration 2m"),
			with(drawn("reentrant-local", "none", mutex, leaseOutlived), "--clients 10 --overrun 1 --ttl 10s --duration 2m"),
		},
		"The test asserts nothing and never ends. Its work is exactly as long as the life, so that a lease may end under its holder: with a bare DEL two hold the lock. The document's own lock passes because a refused client comes back a lease later; clients that ask more often, and work that takes a little longer, break it. Both replays that show a violation print \"not declared\": recipes declare their flaws for Lockstorm's default settings, in which the work of locks without renewal ends within the lease unless a fault makes it longer.",
	},
	{
		Listing, "Test 3: re-entry; the comment says four times, the code enters once.", []string{"reentrant-local"},
		[]Command{holds("reentrant-local", "none", "d3-test-reentrant"), holds("reentrant-local", "none", reentrant)}, "Holds, for several entries too.",
	},
	{
		Claim, "Run these tests: nothing is wrong.", []string{"reentrant-local", "set-nx-ex-bounded-renewal"},
		[]Command{
			holds("reentrant-local", "none", "d3-test-basic"), holds("reentrant-local", "none", "d3-test-lock"), holds("reentrant-local", "none", "d3-test-reentrant"), shows("reentrant-local", "client-pause", reentrant, "hold-1of2", Flaw{"reentrancy", "lease-outlived"}),
			drawn("set-nx-ex-bounded-renewal", "none", mutex, renewalFailed),
		},
		"Confirmed: these tests, run here as workloads, show nothing. A pause, or work beyond the lease with renewal, shows what they cannot.",
	},
}

// d3Libraries are the items about Redisson and other libraries.
var d3Libraries = []Item{
	{
		Listing, "Redisson in use: getLock, tryLock, unlock.", []string{"redisson"},
		[]Command{holds("redisson", "none", mutex)}, "The protocol is implemented in Go, from the document and the library; without a fault it holds.",
	},
	{
		Listing, "Redisson's lock: one script; a refused client learns the remaining time and waits for a message.", []string{"redisson"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), ofLocks("TestRedissonWaiterIsWokenByTheRelease"), ofLocks("TestRedissonWaiterThatMissesTheMessageWaitsForTheRemainingLife")},
		"Implemented. A waiter that misses the message waits for the rest of the holder's lease.",
	},
	{
		Claim, "One script makes it atomic.", []string{"redisson"},
		[]Command{holds("redisson", "none", mutex), shows("redisson", "client-crash", reentrant, "acquire.n0.1.before-1of2", orphanedKey)}, "Confirmed: a crash blocks others up to the lease.",
	},
	{
		Claim, "Without a time of the caller's, a thread prolongs the lock every 30 s.", []string{"redisson", "redisson-renews-each-lease"},
		[]Command{ofLocks("TestRedissonRenewsAtAThirdOfItsLeaseAndAsD3SaysAtTheWhole"), drawn("redisson-renews-each-lease", "none", mutex, renewalFailed), Measured{"renewal", "redisson"}},
		"Refuted by the library: every third of the lease, 10 s of 30 s. Every 30 s, as the document has it, races the key's end.",
	},
	{
		Claim, "With a time of the caller's there is no renewal.", []string{"redisson-lease"},
		[]Command{ofLocks("TestAnExplicitLeaseEndsWhateverItsHolderDoes"), shows("redisson-lease", "slow-work", mutex, "hold.little-1of2", leaseOutlived), Measured{"renewal", "lease"}}, "Confirmed: then it shares its lock when work outlasts that time.",
	},
	{
		Claim, "It is reentrant: HEXISTS asks for the holder, HINCRBY counts.", []string{"redisson"},
		[]Command{ofLocks("TestNAcquiresNeedNReleases"), holds("redisson", "none", reentrant)}, "Confirmed; the field is the client's id with its thread's.",
	},
	{
		Listing, "Redisson's unlock: count down; above 0 return, at 0 DEL and PUBLISH.", []string{"redisson"},
		[]Command{ofLocks("TestPartialReleaseRenewsTheLifeInRedissonOnly"), ofLocks("TestRedissonWaiterIsWokenByTheRelease")}, "Implemented as the library does it: a release that leaves entries also renews the life.",
	},
	{
		Claim, "After the release the renewal stops.", []string{"redisson"},
		[]Command{ofLocks("TestOneWatchdogLivesFromTheFirstEntryToTheFinalRelease"), ofLocks("TestAReleaseThatIsLostLeavesD2sTimerRunningAndStopsRedissons")}, "Confirmed, even if the release is lost.",
	},
	{
		Claim, "Third parties' libraries are the better choice in production.", []string{"redisson"},
		[]Command{Measured{"libraries", "safer"}, Measured{"libraries", "late"}, Test{"internal/strangers", "TestStrangersAreJudgedAsTheTableSays"}},
		"Confirmed for Go's redsync, redislock and rueidislock, which the test puts under every fault of the simulation: no release of theirs removes another's lock, and what they show are limits of leases; rueidislock learns only half a lease too late that a renewal was not answered. Other languages' libraries, Redisson itself among them, have not been run here.",
	},
}

var d3RedLock = []Item{
	{
		Scenario, "Redis itself dies.", []string{"set-nx-px"},
		[]Command{Measured{"dead-nodes", "one"}}, "So the lock serves nobody.",
	},
	{
		Scenario, "A primary dies and a replica is elected: the lock can go wrong.", []string{"set-nx-px"},
		[]Command{shows("set-nx-px", "failover", mutex, "acquire.n0.1.replied-1of2", serverLostKey)}, "Shown: the replica never had the key, and a second client gets in.",
	},
	{
		Claim, "RedLock: N independent nodes, without replication, that do not all fail at once.", []string{"redlock"},
		[]Command{Measured{"dead-nodes", "quorum"}, shows("redlock", "node-restart", mutex, "read.quorum.everysec-1of2", serverLostKey)},
		"A minority may die. But one node is enough if it comes back without its data and so votes twice: in the replay c0 holds the lock on n0, n1 and n2, n2 restarts and has lost c0's key, and c1 gets n2, n3 and n4. `redlock-delayed-restart` stays away for a lease.",
	},
	{
		Listing, "RedLock's steps: the time, each node in turn with one token, the time again, the majority, the release everywhere.", []string{"redlock"},
		[]Command{ofLocks("TestRedlockIsHeldByAMajority"), holds("redlock", "none", mutex)}, "Implemented; without a fault it holds.",
	},
	{
		Claim, "The timeout for one node is small beside the lease: 5 to 50 ms at 10 s, so that a dead node does not hold the client up.", []string{"redlock"},
		[]Command{Measured{"node-timeout", "short"}, Measured{"node-timeout", "long"}, ofLocks("TestRedlockWaitsForANodeAFractionOfTheLease")}, "Confirmed. Within that range, a longer timeout waits longer for dead nodes, and a shorter one takes slow nodes for dead: where answers come up to 20 ms late, next to nothing is acquired at 5 ms.",
	},
	{
		Claim, "It is held only if a majority granted it and less time passed than the lease.", []string{"redlock"},
		[]Command{ofLocks("TestRedlockIsHeldByAMajority"), shows("redlock", "client-skew", mutex, "acquire.forward-2of3", clientClock)},
		"Implemented. The times are those of a wall clock: one that is set back makes the holder believe for too long. `redlock-drift` takes a monotonic one.",
	},
	{
		Claim, "The key is valid for the lease minus the time that the acquisition took.", []string{"redlock"},
		[]Command{ofLocks("TestRedlockClaimsUntilTheLeaseCountedFromBeforeTheFirstRequest"), shows("redlock", "client-pause", mutex, "touch-1of2", Flaw{"resource", "lease-outlived"})},
		"Confirmed for what the holder believes. A holder that freezes between its look at the deadline and its next touch disturbs the resource all the same; only a fencing token helps (`fenced`).",
	},
	{
		Claim, "A failed attempt releases on all nodes, also on those that seem not to have granted.", []string{"redlock"},
		[]Command{ofLocks("TestRedlockGivesBackOnEveryNodeWhateverItAnswered"), shows("redlock", "client-crash", mutex, "acquire.n4.1.before-2of3", orphanedKey), shows("redlock", "node-pause", mutex, "acquire.n0.1.before.majority-1of2", orphanedKey)},
		"It does, but keys may stay up to the lease all the same: those of a client that dies, and those of a living one whose attempt met nodes that hang. In the second line, three nodes run the SETs of c0's attempt when they wake up, after the attempt ended; its releases never got as far as these nodes. Nobody gets in for 999 ms.",
	},
	{
		Claim, "Redisson has a good RedLock in RedissonRedLock.", []string{"redisson-redlock"},
		[]Command{
			holds("redisson-redlock", "none", mutex), ofLocks("TestRedissonRedlockIsHeldByAMajority"),
			shows("redisson-redlock", "client-pause", mutex, "acquire.n4.1.before-2of3", foreignRenewal, leaseOutlived),
		},
		"It holds without a fault. Its holder gets no deadline, though, and believes past the lease; and it sets the lease anew without asking whose key it is. Redisson itself has deprecated it since 3.12.5.",
	},
}
