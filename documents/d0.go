package documents

import "slices"

// d0 are the items of "Go+Redis mutex and red lock".
var d0 = slices.Concat(d0Mutex, d0RedLock)

var d0Mutex = []Item{
	{
		Claim, "`SET name value NX PX 30000` is the recommended standard form of a mutex.", []string{"set-nx-px"},
		[]Command{holds("set-nx-px", "none", mutex)},
		"Without a fault it holds. What no lease on one node can promise is in its row of the recipes: all its declared flaws are limits, none is a bug.",
	},
	{
		Claim, "The value must be one that no other competitor for the key has, so that a client never releases another's lock.", []string{"set-nx-px"},
		[]Command{Measured{"unique-value", "removed"}}, "Confirmed.",
	},
	{
		Listing, "The release as a Lua script: GET, compare, DEL.", []string{"set-nx-px"},
		[]Command{ofLocks("TestRecipeSendsWhatItsRowNames"), holds("set-nx-px", "client-pause", mutex, "release.n0.1.before-1of2")},
		"Implemented. A holder that freezes just before its release, past the lease, removes nothing of another's: the script finds another value.",
	},
	{
		Scenario, "Without the script: A is blocked past its lease, B gets the lock, and A's release removes B's.", []string{"set-nx-ex"},
		[]Command{shows("set-nx-ex", "client-pause", mutex, "release.n0.1.before-1of2", foreignDelete)},
		"Shown: a bare DEL ends B's grant and lets a third in beside B.",
	},
	{
		Scenario, "Comparing and deleting as two commands: the lock expires after A's comparison, B gets it, and A's DEL removes it.", []string{"set-nx-ex-get-del"},
		[]Command{shows("set-nx-ex-get-del", "client-pause", mutex, "release.n0.2.before-1of2", foreignDelete)},
		"Shown, by a pause between GET and DEL.",
	},
	{
		Listing, "TryLock and Unlock of the mutex.", []string{"set-nx-px"},
		[]Command{holds("set-nx-px", "none", mutex), Measured{"unique-value", "removed"}},
		"Implemented as the prose says, but for the release: the listing's Unlock reads the script's error only, so that it succeeds even if the script answers 0, while `set-nx-px` then answers that the lock was not held (`set-nx-px-watchdog` drops the 0 as the listing does). The listing has a slip: it sends the stored value first and stores the new one after the grant, so that every first attempt sends the same, empty value.",
	},
	{
		Claim, "A UUID serves as the random value, made for the attempt and returned with the grant.", []string{"set-nx-px"},
		[]Command{ofLocks("TestTokensAreOfOneAttemptAlone")}, "Confirmed: no two attempts share a token, whichever the recipe (16 random bytes here).",
	},
	{
		Listing, "Lock: try at once, then at each tick of an interval, until the lock is held, another error comes or the context ends.", nil,
		[]Command{ofLocks("TestWaitingTriesAtOnceAndThenAtEachTickWhileBusy")},
		"Implemented as `locks.Wait`, for every recipe. When the context ends it says both that the lock is busy and why it stopped.",
	},
	{
		Claim, "On an error that is not \"busy\" (network, timeout) Lock returns it at once.", []string{"set-nx-px"},
		[]Command{shows("set-nx-px", "lost-reply", mutex, "acquire.n0.1.before-1of2", orphanedKey)},
		"That is safe but not free: if only the reply was lost, the key is set, its owner does not know, and everybody waits for the lease to end.",
	},
	{
		Scenario, "Holder A is blocked, the lock times out, and B gets it too early.", []string{"set-nx-px"},
		[]Command{shows("set-nx-px", "client-pause", mutex, "acquire.n0.1.replied-1of2", leaseOutlived), shows("set-nx-px", "slow-work", mutex, "hold.little-1of2", leaseOutlived)},
		"Shown, for a client that is frozen and for one whose work is slow.",
	},
	{
		Claim, "A watchdog that prolongs the lock while A holds it makes that rarer.", []string{"set-nx-px-watchdog", "set-nx-px"},
		[]Command{Measured{"renewal", "reduces"}, holds("set-nx-px-watchdog", "slow-work", mutex, "hold.little-1of2"), shows("set-nx-px-watchdog", "client-pause", mutex, "read.n0.1.before-1of2", leaseOutlived)},
		"Confirmed for work that is slow, not for a process that is frozen: its watchdog is frozen with it.",
	},
	{
		Scenario, "The watchdog cannot prevent it altogether: the connection to Redis breaks right after the grant.", []string{"set-nx-px-watchdog"},
		[]Command{shows("set-nx-px-watchdog", "partition", mutex, "read.n0.1.before-1of2", renewalFailed), shows("set-nx-px-watchdog", "partition", mutex, "read.n0.1.before.short-1of2", renewalFailed)},
		"Shown: in the first replay the link is cut for longer than the lease, so that no renewal at any tick could arrive, and the holder, which does not learn of it, works on while another client has the lock. In the second it is cut for a fifth of the lease: the next tick's renewal would have saved the lock, but the watchdog has ended at its first error.",
	},
	{
		Listing, "startWatchDog: every third of the lease a plain EXPIRE, bounded by two thirds; an error or a missing key ends it.", []string{"set-nx-px-watchdog"},
		[]Command{
			ofLocks("TestWatchdogEndsForGoodAt"), shows("set-nx-px-watchdog", "lost-reply", mutex, "read.n0.1.before-1of2", renewalFailed),
			shows("set-nx-px-watchdog", "client-pause", mutex, "read.n0.1.before-2of3", foreignRenewal),
		},
		"Implemented, with two bugs: one lost reply stops it for good under a living holder, and EXPIRE does not check whose key it is, so it prolongs another client's lock.",
	},
	{
		Listing, "TryLock starts the watchdog after the grant.", []string{"set-nx-px-watchdog"},
		[]Command{ofLocks("TestLeaseOutlivesTheCallThatTookIt"), ofLocks("TestWatchdogSendsAPlainExpireInWholeSeconds")},
		"Implemented; the watchdog lives on the client's context, not on that of the acquiring call.",
	},
	{
		Listing, "Unlock runs the script and then closes the watchdog's channel, whatever the script answered.", []string{"set-nx-px-watchdog", "set-nx-px-watchdog-reused"},
		[]Command{
			ofLocks("TestWatchdogIsStoppedAfterTheReleaseWhateverCameOfIt"), ofLocks("TestMutexWithAWatchdogHearsOfEveryReleaseAsASuccess"), drawn("set-nx-px-watchdog-reused", "none", mutex, Flaw{"conduct", "panic"}),
			ofLocks("TestReusedMutexRenewsItsFirstLeaseOnlyAndPanicsAtItsSecondRelease"),
		},
		"Implemented twice, since the listing never makes the channel: with a new one for each lease; and with one for all, so that a mutex that is used again renews no lease but its first, and panics at its second release.",
	},
}

var d0RedLock = []Item{
	{
		Scenario, "The one Redis instance dies: nobody gets a lock any more.", []string{"set-nx-px"},
		[]Command{Measured{"dead-nodes", "one"}}, "Confirmed.",
	},
	{
		Claim, "Several instances and a majority of them tolerate dead nodes.", []string{"redlock", "redlock-naive"},
		[]Command{Measured{"dead-nodes", "quorum"}, Measured{"dead-nodes", "naive"}, Measured{"dead-nodes", "price"}, shows("redlock-naive", "node-pause", mutex, "acquire.n0.1.before.majority-1of2", orphanedKey)},
		"Confirmed for a dead minority. D0's own form has no timeout of its own: nodes that hang hold every attempt up.",
	},
	{
		Listing, "RedLock's TryLock: all nodes at once, wait for all answers, N/2+1 grants needed.", []string{"redlock-naive"},
		[]Command{
			ofLocks("TestNaiveRedlockOnTheWire"), ofLocks("TestNaiveRedlockWaitsForTheSlowestNode"),
			shows("redlock-naive", "client-pause", mutex, "acquire.n0.1.before-2of3", leaseOutlived),
		},
		"Implemented. It waits for the slowest node, and it never looks at how much of the lease the acquisition used up: a holder may begin when its keys are gone.",
	},
	{
		Claim, "The clients that granted are collected in a channel, because appending to a slice from several goroutines would race.", []string{"redlock-naive"},
		[]Command{ofLocks("TestNaiveRedlockIsHeldByAMajorityAndCleansUpWhatItGot")}, "Confirmed; a mutex would do as well. Run it with `-race`.",
	},
	{
		Claim, "An attempt without a majority gives back what it got.", []string{"redlock-naive"},
		[]Command{ofLocks("TestNaiveRedlockIsHeldByAMajorityAndCleansUpWhatItGot"), shows("redlock-naive", "lost-reply", mutex, "acquire.n0.1.before.majority-1of2", Flaw{"liveness", "foreign-renewal"})},
		"Only on nodes that said yes, and without waiting for it. In the replay the answers of n0, n1 and n2 to one attempt of c1's are lost: its three keys stay, and c0's watchdogs, of its failed attempts too, prolong them to the end of the run, as the table says under liveness. The story below it tells the first violation, which needs no fault: a watchdog of c1's that its release did not stop renews c0's lock.",
	},
	{
		Claim, "After a successful acquisition the watchdog starts.", []string{"redlock-naive"},
		[]Command{ofLocks("TestNaiveRedlocksWatchdogsOfAFailedAttemptRenewAnothersLock"), drawn("redlock-naive", "none", mutex, foreignRenewal)},
		"Refuted by the listing: a watchdog starts for each node that grants, before the majority is known, so that failed attempts renew other clients' locks without any fault.",
	},
	{
		Listing, "The red lock's watchdog: at an interval, EXPIRE on all acquired nodes, errors ignored, one channel for all watchdogs.", []string{"redlock-naive"},
		[]Command{drawn("redlock-naive", "none", mutex, foreignRenewal), shows("redlock-naive", "client-crash", mutex, "acquire.n0.1.before-1of2", Flaw{"liveness", "foreign-renewal"})},
		"Implemented. Each watchdog overwrites the channel of the others, so that the release stops one of them, and the rest renew for ever.",
	},
	{
		Listing, "The red lock's Unlock: the script on the acquired nodes, not awaited; always nil.", []string{"redlock-naive"},
		[]Command{ofLocks("TestNaiveRedlocksReleaseIsNotAwaitedAndSucceedsOnce"), ofLocks("TestNaiveRedlocksReleaseIsLostWithItsContext")},
		"Implemented. The caller learns nothing; if its context ends first, the release is lost; and a second release in a row closes a closed channel and panics.",
	},
}
