package documents

import "slices"

// d1 are the items of "Redis distributed lock and its optimisation".
var d1 = slices.Concat(d1First, d1Getset, d1Script)

var d1First = []Item{
	{
		Listing, "The commands: SETNX sets and says 1 or 0; EXPIRE gives a life; GETSET replaces and returns the old value; EVAL runs a script.", []string{"setnx-expire", "getset", "lua-setnx-expire"},
		[]Command{here("TestD1Commands")}, "Confirmed on a real server. The document does not say that GETSET takes the key's life away.",
	},
	{
		Listing, "tryLock by SETNX and then EXPIRE, unlock by DEL.", []string{"setnx-expire"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("setnx-expire", "none", mutex)}, "Implemented; without a fault it holds.",
	},
	{
		Claim, "A blocking form polls at an interval, which matters: without one Redis could not bear it.", []string{"set-nx-px"},
		[]Command{Measured{"polling", "load"}, Measured{"polling", "linear"}},
		"Confirmed as to the load. What a real server makes of it stands beside the experiment's table.",
	},
	{
		Scenario, "The client crashes after SETNX and before EXPIRE: all others are locked out for ever.", []string{"setnx-expire"},
		[]Command{shows("setnx-expire", "client-crash", mutex, "acquire.n0.2.before-1of2", noExpiry)}, "Shown: blocked for ever.",
	},
	{
		Scenario, "The connection breaks between the two commands.", []string{"setnx-expire"},
		[]Command{shows("setnx-expire", "partition", mutex, "acquire.n0.2.before-1of2", noExpiry), shows("setnx-expire", "lost-reply", mutex, "acquire.n0.1.before-1of2", noExpiry)},
		"Shown: blocked for ever; a lost reply of SETNX suffices, since the client then never sends EXPIRE.",
	},
}

var d1Getset = []Item{
	{
		Scenario, "The rejected idea: the key holds its time; C1 and C2 both find it past, both DEL and SETNX, and both succeed.", []string{"setnx-takeover-del"},
		[]Command{shows("setnx-takeover-del", "client-crash", mutex, "hold.rival-3-1of3", race), ofLocks("TestTakeoverDelLetsTwoRivalsIn")}, "Shown: two holders.",
	},
	{
		Claim, "GETSET solves it: a client that gets a value other than the one it read has lost.", []string{"getset"},
		[]Command{Measured{"getset-loser", "winners"}, shows("getset", "client-crash", mutex, "acquire.n0.2.before-1of2", orphanedKey)},
		"Confirmed: only one client gets in. The dead client's lock is open again after its lease and a second.",
	},
	{
		Claim, "The loser's GETSET has changed the time in the key, but this error is very small and can be ignored.", []string{"getset"},
		[]Command{Measured{"getset-loser", "moved"}, Measured{"getset-loser", "cleared"}, Measured{"getset-loser", "ownerless"}, ofLocks("TestGetsetLoserRewritesTheWinnersTimeAndClearsItsLife"), ofLocks("TestGetsetLoserOfAReleasedKeyLeavesOneBehind")},
		"Refuted.",
	},
	{
		Claim, "A second in the stored time tolerates clocks that differ by up to a second.", []string{"getset"},
		[]Command{Measured{"clock-allowance", "allowance"}}, "Confirmed up to that second, and worthless beyond it.",
	},
	{
		Listing, "The first Java version: the clock is read first; SETNX, EXPIRE; busy: GET, GETSET, compare, EXPIRE.", []string{"getset"},
		[]Command{
			ofLocks("TestGetsetTakesOverOnlyWhatIsStrictlyOlder"), ofLocks("TestGetsetIsRobbedAfterAPauseBehindReadingTheClock"),
			shows("getset", "client-skew", mutex, "acquire.forward-1of2", clientClock),
		},
		"Implemented. A client that is frozen between reading its clock and SETNX writes a time that is past, and is robbed at once.",
	},
	{
		Listing, "Polling with an interval and a maximum; an exception ends it with false.", nil,
		[]Command{ofLocks("TestWaitingTriesAtOnceAndThenAtEachTickWhileBusy")},
		"Implemented as `locks.Poll`. A maximum of N makes N−1 attempts, as the listing counts; a maximum of 1 makes none.",
	},
	{
		Listing, "unlock by DEL, with the remark that the caller may look whether the lock has expired and save the request.", []string{"getset"},
		[]Command{shows("getset", "client-pause", mutex, "release.n0.1.before-1of2", foreignDelete), shows("getset", "delay", mutex, "release.n0.1.before.again-1of2", lateCommand)},
		"The look saves more than a request, since a DEL behind the lease removes another's lock; but it comes before the DEL, so that a pause or a delay between the two removes it all the same.",
	},
	{
		Claim, "Each attempt costs at least two round trips.", []string{"setnx-expire", "getset"},
		[]Command{Measured{"one-script", "commands"}}, "Confirmed for an attempt that succeeds; SETNX and EXPIRE need one for an attempt that finds the lock busy.",
	},
	{
		Claim, "A pipeline does not help, because the second command depends on the first one's reply.", []string{"setnx-expire-pipeline"},
		[]Command{
			drawn("setnx-expire-pipeline", "none", mutex, foreignRenewal), shows("setnx-expire-pipeline", "hung-work", mutex, "hold-1of2", Flaw{"liveness", "foreign-renewal"}),
			ofLocks("TestAttemptsAtABusyLockProlongTheHoldersKey"),
		},
		"Confirmed: sent together, each attempt of a loser gives the holder's key a new life, so that the key of a holder that died or hangs never ends while somebody polls.",
	},
	{
		Claim, "Clocks of several servers are hard to keep in step.", []string{"getset"},
		[]Command{shows("getset", "client-skew", mutex, "acquire.forward-1of2", clientClock), Measured{"clock-allowance", "allowance"}}, "What it costs is shown.",
	},
}

var d1Script = []Item{
	{
		Listing, "The lock as one Lua script: SETNX, and EXPIRE if it was set.", []string{"lua-setnx-expire"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("lua-setnx-expire", "none", mutex)}, "Implemented; without a fault it holds.",
	},
	{
		Claim, "A script is not strictly atomic: if its EXPIRE fails, the script ends with an error and the SETNX stays.", []string{"lua-setnx-expire-fraction"},
		[]Command{drawn("lua-setnx-expire-fraction", "none", mutex, noExpiry), ofLocks("TestAScriptWhoseExpireFailsKeepsItsSetnx")}, "Confirmed: the key stays without a life, and everybody is locked out for ever.",
	},
	{
		Claim, "Then the server must have crashed, unless an argument is wrong, which development rules out.", []string{"lua-setnx-expire-fraction"},
		[]Command{here("TestD1ScriptWhoseExpireFails"), drawn("lua-setnx-expire-fraction", "none", mutex, noExpiry)},
		"Confirmed as far as arguments go: a lease that is no whole number, or too large a one, makes EXPIRE fail on a healthy server. Development rules it out only where the lease is a constant.",
	},
	{
		Claim, "One command leaves no gap in which the client can fail.", []string{"lua-setnx-expire"},
		[]Command{shows("lua-setnx-expire", "client-crash", mutex, "release.n0.1.before-1of2", orphanedKey)},
		"Confirmed: a dead client blocks others up to its lease and never for ever.",
	},
	{
		Listing, "The second Java version: the script, sent by its digest.", []string{"lua-setnx-expire"},
		[]Command{ofLocks("TestScriptIsSentByItsDigestAndBySourceOnlyIfTheNodeForgotIt"), holds("lua-setnx-expire", "script-flush", mutex)},
		"Implemented; a node that forgot the script is sent the source.",
	},
	{
		Listing, "An exception in tryLock is logged and becomes false.", []string{"lua-setnx-expire"},
		[]Command{shows("lua-setnx-expire", "lost-reply", mutex, "acquire.n0.1.before-1of2", orphanedKey)},
		"Implemented as an unknown outcome, which it is: if only the reply was lost, the key stands, and the client that was told false keeps all others out for the lease.",
	},
	{
		Claim, "If Redis crashes while it runs the script, the lock is void too.", []string{"lua-setnx-expire"},
		[]Command{shows("lua-setnx-expire", "node-restart", mutex, "hold.volatile-1of2", serverLostKey)},
		"Confirmed, and more: a crash at any time voids the lock of a holder who does not learn of it, and another gets in beside it.",
	},
	{
		Claim, "The script makes the lock faster.", []string{"lua-setnx-expire", "setnx-expire"},
		[]Command{Measured{"one-script", "faster"}}, "Confirmed, by a round trip.",
	},
	{
		Scenario, "The hole in unlock: work outlasts the lease, and the DEL at its end releases another client's lock.", []string{"lua-setnx-expire"},
		[]Command{shows("lua-setnx-expire", "client-pause", mutex, "release.n0.1.before-1of2", foreignDelete), shows("lua-setnx-expire", "slow-work", mutex, "hold.little-2of3", foreignDelete)}, "Shown, for a client that is frozen and for one whose work is slow.",
	},
	{
		Listing, "The final version: an owner's value, compare and delete in Lua, a flag that refuses a second lock and an unlock without one.", []string{"lua-setnx-expire-owner"},
		[]Command{ofLocks("TestLuaOwnerHandleRefusesWithoutAskingRedis"), holds("lua-setnx-expire-owner", "none", mutex)},
		"Implemented; the result of the release is ignored, as in the listing.",
	},
	{
		Claim, "A timestamp and a UUID make an absolutely unique value.", []string{"lua-setnx-expire-owner"},
		[]Command{ofLocks("TestLuaOwnerValueIsMadeOncePerHandle"), shows("lua-setnx-expire-owner", "delay", mutex, "release.n0.1.before.again-1of2", lateCommand)},
		"Unique among handles, but made once for each: a release that arrives late deletes the next lease of the same handle.",
	},
	{
		Claim, "The comparison closes the hole.", []string{"lua-setnx-expire-owner"},
		[]Command{holds("lua-setnx-expire-owner", "client-pause", mutex, "release.n0.1.before-1of2"), shows("lua-setnx-expire-owner", "client-pause", mutex, "acquire.n0.1.replied-1of2", leaseOutlived)},
		"Confirmed: no other client's lock is removed. That two work at once after the lease stays.",
	},
	{
		Claim, "The lock is not reentrant, and its object not safe for several threads.", []string{"lua-setnx-expire-owner"},
		[]Command{ofLocks("TestLuaOwnerHandleRefusesWithoutAskingRedis")}, "Confirmed: a second lock is refused without asking Redis.",
	},
}
