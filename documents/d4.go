package documents

import "slices"

// d4 are the items of "Redis distributed read-write lock".
var d4 = slices.Concat(d4Table, d4Listings)

// readersMixed is a trial without a fault in which one reader's release lets a writer in while
// another reader still reads.
var readersMixed = shows("rw-two-keys", "none", readWrite, "probe.2-0of3", foreignDelete)

var d4Table = []Item{
	{
		Claim, "SETNX serves most locks for writing.", []string{"set-nx-ex", "setnx-expire"},
		[]Command{holds("set-nx-ex", "none", mutex), shows("set-nx-ex", "client-pause", mutex, "release.n0.1.before-1of2", foreignDelete)},
		"It does while nothing goes wrong; D3 tells what is missing, step by step.",
	},
	{
		Claim, "On one instance, a key for readers and one for writers make a read-write lock, in Lua.", []string{"rw-two-keys"},
		[]Command{readersMixed}, "Refuted without any fault: the first reader that leaves lets a writer in while the other still reads.",
	},
	{
		Scenario, "In a cluster the two keys may be on different instances, where one script cannot use both.", []string{"rw-two-keys"},
		[]Command{Campaign{"process", "rw-two-keys", "slot-migration"}}, "Confirmed on a real Redis Cluster: CROSSSLOT; nobody ever gets in (liveness by cross-slot). The simulation has no cluster.",
	},
	{
		Claim, "Table: readers may re-enter: supported by both.", []string{"rw-two-keys", "rw-hash"},
		[]Command{Measured{"read-write", "re-entry"}}, "Half of re-entry.",
	},
	{
		Claim, "Table: only the current thread can delete its lock: not supported with two keys, supported by the hash.", []string{"rw-two-keys", "rw-hash"},
		[]Command{Measured{"read-write", "own"}, Measured{"read-write", "stranger"}, shows("rw-hash", "none", readWrite, "probe.5-0of8", foreignDelete)},
		"Refuted for the hash: its owner is a millisecond.",
	},
	{
		Claim, "Table: released by itself after a timeout: supported by both.", []string{"rw-two-keys", "rw-hash"},
		[]Command{Measured{"read-write", "timeouts"}}, "Confirmed, at a lease of 1 s.",
	},
	{
		Claim, "Table: the current thread cannot re-enter a lock for writing, in either.", []string{"rw-two-keys", "rw-hash"},
		[]Command{Measured{"read-write", "write"}}, "Confirmed.",
	},
	{
		Claim, "The cluster version is to be preferred.", []string{"rw-hash", "rw-hash-owners"},
		[]Command{shows("rw-hash", "none", readWrite, "probe.2-0of3", race), holds("rw-hash-owners", "none", readWrite), Measured{"read-write", "first"}},
		"It runs on a cluster and survives one order of leaving more, but it too lets a writer in beside a reader with no fault. `rw-hash-owners`, a field for each reader on the server's time, does not.",
	},
}

var d4Listings = []Item{
	{
		Listing, "Two keys, acquire to read: EXISTS of the writers' key, else SET of the readers' with EX.", []string{"rw-two-keys"},
		[]Command{ofLocks("TestTwoKeysOnTheWire"), ofLocks("TestReadersShareAndWritersDoNot")}, "Implemented.",
	},
	{
		Listing, "Two keys, acquire to write: EXISTS of the readers' key, else SET of the writers' with EX and NX.", []string{"rw-two-keys"},
		[]Command{ofLocks("TestTwoKeysOnTheWire"), ofLocks("TestTwoKeysLiveForWholeSeconds")}, "Implemented.",
	},
	{
		Scenario, "Reader A may delete the lock of reader B.", []string{"rw-two-keys"},
		[]Command{readersMixed, ofLocks("TestTwoKeysReaderLeavingFirstLetsWriterInBesideTheOthers")}, "Shown with no fault.",
	},
	{
		Claim, "A hash keeps everything of one lock on one instance.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashOnTheWire")}, "Confirmed: every script names one key.",
	},
	{
		Claim, "Comparing the timestamp makes sure that only the current thread deletes its lock, or time does.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashEqualMillisecondsAreEqualOwners"), shows("rw-hash", "none", readWrite, "probe.4-0of3", Flaw{"ownership", "foreign-delete"})}, "Refuted: equal milliseconds are equal owners.",
	},
	{
		Listing, "Hash, acquire to read: no writer, or one older than its timeout: HSET read now, PEXPIRE.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashOnTheWire"), ofLocks("TestRWHashClientClocksDecideWhoIsStillIn"), shows("rw-hash", "client-skew", readWrite, "acquire.forward-1of3", clientClock)},
		"Implemented. The caller's clock decides whether the writer's time is over: a clock that is ahead gets in beside it.",
	},
	{
		Listing, "Hash, release of a reader: HDEL if the field still has the caller's time.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashLastReadersReleaseLetsWriterInBesideTheFirst"), shows("rw-hash", "none", readWrite, "probe.2-0of3", race)},
		"Implemented. A second reader has overwritten the first one's time, so that its release leaves none, though the first still reads.",
	},
	{
		Listing, "Hash, acquire to write: no reader and no writer, or older than their timeouts.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashOnTheWire"), ofLocks("TestReadersShareAndWritersDoNot")}, "Implemented.",
	},
	{
		Listing, "Hash, release of a writer: HDEL if the field still has the caller's time.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashOnTheWire"), Measured{"read-write", "stranger"}}, "Implemented.",
	},
	{
		Listing, "The Java calls: 1 s for a reader, 3 s for a writer, 10 s for the key; the value is the client's millisecond.", []string{"rw-hash"},
		[]Command{ofLocks("TestRWHashKeyLivesTenTimesALease"), Measured{"read-write", "timeouts"}, shows("rw-hash", "slow-work", readWrite, "hold.twice-1of3", leaseOutlived)},
		"Implemented in these proportions. The key's 10 s matter only when nobody asks: the times in the fields decide.",
	},
}
