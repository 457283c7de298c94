package checker

// Cause is the reason why a property was violated, as far as the wire evidence shows it.
type Cause string

// Causes.
const (
	Race           Cause = "race"            // the protocol itself granted the lock twice
	ForeignDelete  Cause = "foreign-delete"  // another client's DEL freed the lock under its holder
	ForeignRenewal Cause = "foreign-renewal" // another client's EXPIRE prolonged the lease
	RenewalFailed  Cause = "renewal-failed"  // the watchdog stopped or renewed too late
	LeaseOutlived  Cause = "lease-outlived"  // the key expired while its holder went on
	ShortLease     Cause = "short-lease"     // the key's TTL was shorter than the lease that was asked for
	LongLease      Cause = "long-lease"      // the key's TTL was longer than a lease that is claimed
	ServerLostKey  Cause = "server-lost-key" // failover, restart, eviction
	ServerClock    Cause = "server-clock"    // a node's wall clock jumped
	ClientClock    Cause = "client-clock"    // a client's wall clock was wrong
	NoKey          Cause = "no-key"          // no key of the lock was ever on a node
	NoExpiry       Cause = "no-expiry"       // a key without TTL outlived its owner
	LateCommand    Cause = "late-command"    // a command of an earlier attempt ran late
	FenceRegressed Cause = "fence-regressed" // a later grant got a smaller fence
	OrphanedKey    Cause = "orphaned-key"    // an ownerless key blocked until its TTL was over
	HungHolder     Cause = "hung-holder"     // a holder that never comes back from its work is renewed for ever
	FalseAnswer    Cause = "false-answer"    // the lock said no to what its own commands had done
	Starved        Cause = "starved"         // others got the lock, a waiting client never did
	CrossSlot      Cause = "cross-slot"      // a cluster refused a command on several slots
	Deadlock       Cause = "deadlock"        // the code under test waits, and nothing can ever wake it
	Panic          Cause = "panic"           // the code under test panicked
	Runaway        Cause = "runaway"         // the code under test did not finish
	Unmarked       Cause = "unmarked"        // the clients' program did not note what it had done
	Unclassified   Cause = "unclassified"    // the evidence does not show the cause
)

// causes describes all causes, in the order of the documentation.
var causes = []struct {
	Cause
	meaning, assumption string
}{
	{Race, "two grants by the protocol itself", "nothing happens between the recipe's own commands"},
	{ForeignDelete, "somebody else's key was deleted", "the key that a release deletes is still the caller's own"},
	{ForeignRenewal, "somebody else's lease was prolonged", "the key that a renewal prolongs is still the renewer's own"},
	{RenewalFailed, "the renewal failed and nobody noticed", "renewals keep the lease alive for as long as its holder works"},
	{LeaseOutlived, "the lease ended under its holder", "a holder is done before its lease ends"},
	{ShortLease, "the key was given less time than the lease that was asked for", "a key lives for as long as the lease that was asked for"},
	{LongLease, "the key was given more time than the lease that was asked for", "a key is gone when the lease that was asked for is over"},
	{ServerLostKey, "Redis lost a key that it had acknowledged", "Redis keeps a key that it has acknowledged"},
	{ServerClock, "a node's clock jumped", "the nodes' clocks run at the speed of time"},
	{ClientClock, "clients' clocks disagreed", "the clients' wall clocks agree, and a time that was read is still the time"},
	{NoKey, "the lock put nothing into Redis, where other clients would have seen it", "whoever holds the lock has a key in Redis that all others find there"},
	{NoExpiry, "a key without an expiry was left behind", "whoever takes the lock lives to release it"},
	{LateCommand, "a command of an earlier attempt arrived late", "a command that was given up does not arrive any more"},
	{FenceRegressed, "an older fencing token came after a newer one", "fencing tokens only grow"},
	{OrphanedKey, "an orphaned key kept everybody out until it expired", "a key in Redis has a living owner"},
	{HungHolder, "a holder that never came back from its work kept its lease alive", "who renews a lease is still at work under it"},
	{FalseAnswer, "an answer contradicted what the lock's own commands had done", "what a lock answers is what its commands did"},
	{Starved, "the lock went round among others, and one who waited never got it", "who asks often enough gets in at some time"},
	{CrossSlot, "a Redis Cluster refused a command whose keys are in different slots", "all keys are on one node"},
	{Deadlock, "the code under test waits for ever", "every reply comes, and every wait has somebody who ends it"},
	{Panic, "the code under test panicked", "errors come back as errors"},
	{Runaway, "the code under test does not come to an end", "what is tried again succeeds at some time"},
	{Unmarked, "clients did a job twice, as their program did not note that it was done", "whoever gets the lock is the first to get it"},
	{Unclassified, "a violation that the evidence does not explain", ""},
}

// Causes returns every cause that a Finding may carry, in the order of the
// documentation.
func Causes() []Cause {
	var all []Cause
	for _, c := range causes {
		all = append(all, c.Cause)
	}
	return all
}

// Meaning returns what happened in a few words, or the name of an unknown cause.
func (c Cause) Meaning() string {
	for _, row := range causes {
		if row.Cause == c {
			return row.meaning
		}
	}
	return string(c)
}

// Assumption returns the broken assumption of the recipe as a clause that completes "the
// assumption that …".
func (c Cause) Assumption() string {
	for _, row := range causes {
		if row.Cause == c {
			return row.assumption
		}
	}
	return ""
}

// OfRenewal reports whether only a lock that renews its leases can show the cause.
func (c Cause) OfRenewal() bool { return c == RenewalFailed || c == HungHolder }
