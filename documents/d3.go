package documents

import "slices"

// d3 are the items of "Redis series 13: distributed lock". They fill two files; the items from the
// Java listing on are in d3_java.go.
var d3 = slices.Concat(d3Steps, d3Owner, d3Java, d3Libraries, d3RedLock)

// d3Steps are the items about the steps from EXISTS and SET to one command that sets both key and TTL.
var d3Steps = []Item{
	{
		Scenario, "A service on several instances draws ten winners at noon: every instance draws, unless a distributed lock lets one alone.", []string{"set-nx-px", "exists-set"},
		[]Command{holds("set-nx-px", "none", "lottery"), drawn("exists-set", "none", "lottery", race), drawn("set-nx-px", "none", "lottery-unmarked", Flaw{"draws", "unmarked"})},
		"Half of the truth: a lock that holds keeps two instances from drawing at once, one that does not fails. But no lock keeps an instance whose timer is late from drawing again: for that, an instance must record the draw, and the document has no such record.",
	},
	{
		Claim, "Locks can be built on MySQL, Redis or ZooKeeper.", nil,
		[]Command{List{"locks"}}, "These are all built on Redis. `lockstorm check` judges the histories of others: MySQL's or ZooKeeper's locks have not been tried here.",
	},
	{
		Listing, "The simple idea: EXISTS, then SET; DEL to release.", []string{"exists-set"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), drawn("exists-set", "none", mutex, race)}, "Implemented; two get in with no fault.",
	},
	{
		Scenario, "Between A's EXISTS and its SET, B gets in too.", []string{"exists-set"},
		[]Command{drawn("exists-set", "none", mutex, race), ofLocks("TestExistsSetLetsTwoInWithNoFault")}, "Shown with no fault.",
	},
	{
		Listing, "SETNX instead; DEL to release.", []string{"setnx"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("setnx", "none", mutex)}, "Implemented; without a fault it holds.",
	},
	{
		Scenario, "Process A dies while it holds the lock: a deadlock for good.", []string{"setnx"},
		[]Command{shows("setnx", "client-crash", mutex, "release.n0.1.before-1of2", noExpiry)}, "Shown: blocked for ever.",
	},
	{
		Listing, "SETNX, then EXPIRE 10; DEL to release.", []string{"setnx-expire"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("setnx-expire", "none", mutex)}, "Implemented; without a fault it holds.",
	},
	{
		Claim, "Work must end within the 10 s; at 10 s the lock goes to others.", []string{"setnx-expire"},
		[]Command{shows("setnx-expire", "slow-work", mutex, "hold.little-1of2", leaseOutlived)}, "Confirmed: work that takes a little longer is no longer alone.",
	},
	{
		Scenario, "The service dies right after SETNX: the deadlock is back.", []string{"setnx-expire"},
		[]Command{shows("setnx-expire", "client-crash", mutex, "acquire.n0.2.before-1of2", noExpiry)}, "Shown: blocked for ever.",
	},
	{
		Claim, "A transaction does not help: EXPIRE depends on SETNX's result, and transactions have no if.", []string{"setnx-expire-multi"},
		[]Command{
			drawn("setnx-expire-multi", "none", mutex, foreignRenewal), shows("setnx-expire-multi", "hung-work", mutex, "hold-1of2", Flaw{"liveness", "foreign-renewal"}),
			ofLocks("TestAttemptsAtABusyLockProlongTheHoldersKey"),
		},
		"Confirmed: EXPIRE runs whatever SETNX said, and each attempt of a loser gives the holder's key a new life.",
	},
	{
		Claim, "A Lua script makes both one step.", []string{"lua-setnx-expire"},
		[]Command{holds("lua-setnx-expire", "none", mutex), shows("lua-setnx-expire", "client-crash", mutex, "release.n0.1.before-1of2", orphanedKey)}, "Confirmed: a crash blocks others up to the lease.",
	},
	{
		Listing, "SET with EX, PX, NX, XX (since 2.6.12) and KEEPTTL (since 6.0).", []string{"set-nx-ex"},
		[]Command{here("TestD2OptionsOfSet")}, "Each does what the document says, but for a slip: XX is not SETEX; it sets only a key that is there.",
	},
	{
		Listing, "SET key 1 EX 10 NX; DEL to release.", []string{"set-nx-ex"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("set-nx-ex", "none", mutex)}, "Implemented; without a fault it holds.",
	},
}

// d3Owner are the items about releases that hit another client's lock, and about work that
// outlasts the lease.
var d3Owner = []Item{
	{
		Scenario, "A's work outlasts the 10 s, B gets the lock, and A's DEL removes it.", []string{"set-nx-ex"},
		[]Command{shows("set-nx-ex", "client-pause", mutex, "release.n0.1.before-1of2", foreignDelete), shows("set-nx-ex", "slow-work", mutex, "hold.little-2of3", foreignDelete), shows("set-nx-ex", "delay", mutex, "release.n0.1.before.again-1of2", lateCommand)},
		"Shown; a DEL that is delivered late does it without any work that outlasts the lease.",
	},
	{
		Listing, "A password in the key: GET, compare, DEL.", []string{"set-nx-ex-get-del"},
		[]Command{ofLocks("TestGetDelDoesNotDeleteWhatItsGetTellsApart"), holds("set-nx-ex-get-del", "none", mutex)}, "Implemented.",
	},
	{
		Scenario, "That release is not atomic either.", []string{"set-nx-ex-get-del"},
		[]Command{shows("set-nx-ex-get-del", "client-pause", mutex, "release.n0.2.before-1of2", foreignDelete), ofLocks("TestGetDelRemovesAnothersKeyThatAppearsBetweenGetAndDel")}, "Shown.",
	},
	{
		Listing, "The comparison and the DEL in Lua.", []string{"set-nx-px"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("set-nx-px", "client-pause", mutex, "release.n0.1.before-1of2")}, "Implemented: no release removes another's lock.",
	},
	{
		Scenario, "With an owner in the key, work that outlasts the lease is still not alone.", []string{"set-nx-px"},
		[]Command{shows("set-nx-px", "slow-work", mutex, "hold.little-1of2", leaseOutlived), Measured{"unique-value", "overrun"}}, "Shown.",
	},
	{
		Claim, "It is a paradox: a life keeps the dead from blocking, and robs the slow; what waits for the slow waits for the dead.", []string{"set-nx-px", "set-nx-px-watchdog"},
		[]Command{Measured{"renewal", "coin"}, shows("set-nx-px-watchdog", "hung-work", mutex, "hold-1of2", hungHolder), shows("set-nx-px", "hung-work", mutex, "hold-1of2", leaseOutlived)},
		"Confirmed: no lease tells slow work from work that hangs.",
	},
	{
		Claim, "The advice: estimate how long the work may take at most, and make that the life.", []string{"set-nx-px"},
		[]Command{Measured{"renewal", "fits"}}, "Confirmed while the estimate is right. A client that is frozen keeps to no estimate.",
	},
	{
		Claim, "A background thread may prolong the life until the release.", []string{"set-nx-ex-bounded-renewal"},
		[]Command{Measured{"renewal", "bounded"}, drawn("set-nx-ex-bounded-renewal", "none", mutex, renewalFailed)}, "Refuted for the document's own thread.",
	},
	{
		Claim, "If the work blocks for ever, it then keeps the lock for ever.", []string{"set-nx-ex-bounded-renewal", "set-nx-px-watchdog"},
		[]Command{Measured{"renewal", "coin"}, shows("set-nx-px-watchdog", "hung-work", mutex, "hold-1of2", hungHolder)}, "Confirmed for renewal without an end. The document's own thread ends after four renewals, and so keeps the lock for four leases at most, and for less if a renewal comes when the key has expired.",
	},
	{
		Claim, "Re-entry is beyond Redis, since a thread cannot be named uniquely in it; the client must count.", []string{"reentrant-hash", "redisson", "reentrant-local"},
		[]Command{here("TestD2Transcript"), holds("reentrant-hash", "none", reentrant), ofLocks("TestReentryAfterExpiryIsBusyWhereRedisIsAsked"), shows("reentrant-local", "client-pause", reentrant, "hold-1of2", Flaw{"reentrancy", "lease-outlived"})},
		"Refuted by D2, and by Redisson in this very document: both count in Redis, under a client's id and its thread's. A count in the client enters again what another holds meanwhile.",
	},
}
