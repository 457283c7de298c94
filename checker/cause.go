package checker

import "github.com/lockstorm/lockstorm/history"

// Cause is the reason why a property was violated, as far as the evidence shows it.
type Cause string

// The values of Cause. The table causes has the texts of each cause.
const (
	Race           Cause = "race"            // the protocol itself granted the lock twice
	ForeignDelete  Cause = "foreign-delete"  // another client's command removed or replaced the holder's key
	ForeignRenewal Cause = "foreign-renewal" // a client that did not hold the lock changed the key's TTL
	RenewalFailed  Cause = "renewal-failed"  // a renewal was missing, late, lost or refused
	LeaseOutlived  Cause = "lease-outlived"  // the lease ended while its holder still worked
	ShortLease     Cause = "short-lease"     // the key's TTL was shorter than the lease that was asked for
	LongLease      Cause = "long-lease"      // the key's TTL was longer than the claimed recovery time
	ServerLostKey  Cause = "server-lost-key" // a node lost or never had the key: failover, split, restart, eviction
	ServerClock    Cause = "server-clock"    // a node's wall clock jumped or was wrong
	ClientClock    Cause = "client-clock"    // a client's wall clock was wrong, or a reading of it was old
	NoKey          Cause = "no-key"          // no key of the lock was ever on a node
	NoExpiry       Cause = "no-expiry"       // a key without TTL outlived its owner
	LateCommand    Cause = "late-command"    // a command of an earlier attempt ran late
	FenceRegressed Cause = "fence-regressed" // a fence was not greater or was missing, or an old one was accepted
	OrphanedKey    Cause = "orphaned-key"    // an ownerless key blocked until its TTL was over
	HungHolder     Cause = "hung-holder"     // the lease of a holder that never comes back from its work is renewed for ever
	FalseAnswer    Cause = "false-answer"    // an answer denied what the lock's own commands had done
	Starved        Cause = "starved"         // others got the lock, a waiting client never did
	LeftFree       Cause = "left-free"       // the lock was free, and a waiting client never took it
	CrossSlot      Cause = "cross-slot"      // a cluster refused a command on several slots
	Deadlock       Cause = "deadlock"        // the code under test waits, and nothing can ever wake it
	Panic          Cause = "panic"           // the code under test panicked
	Runaway        Cause = "runaway"         // the code under test did not finish
	Unmarked       Cause = "unmarked"        // the clients' program did not note what it had done
	Unclassified   Cause = "unclassified"    // the evidence does not show the cause
)

// causeRow describes one cause: its texts, and how findings of this cause are judged.
type causeRow struct {
	Cause
	meaning, assumption string
	// ofRenewal: only a lock that renews its leases can show the cause.
	ofRenewal bool
	// ownerless and renewedUnheld are the results of the methods Ownerless and RenewedUnheld.
	ownerless, renewedUnheld bool
	// timeless reports whether the finding is certain in spite of stalls of the harness. nil means
	// that it is certain only if a client is blocked for ever, whatever the timing
	// (Finding.atAnyPace).
	timeless func(history.Claims, Finding) bool
	// replicated reports whether the finding is about replicated data that can be lost with a
	// primary, such as a counter. nil means that this is true only of findings about blockages that
	// last for ever.
	replicated func(history.Claims, Finding) bool
	// harm is the kind of harm that findings of this cause show if nothing ended the trial; "" for the harm
	// of their oracle.
	harm Harm
	// breach finds the assumption of leases that the trial broke. It is nil for faults of the protocol
	// itself, and for FenceRegressed: see counterLost.
	breach breach
}

// causes describes all causes, in the order of the documentation.
var causes = []causeRow{
	{Cause: Race, timeless: raceIsTimeless,
		meaning: "two grants by the protocol itself", assumption: "nothing happens between the recipe's own commands"},
	{Cause: ForeignDelete, breach: (*premises).deletedAfter,
		meaning: "another client's key was deleted", assumption: "the key that a release deletes is still the caller's own"},
	{Cause: ForeignRenewal, renewedUnheld: true,
		meaning: "another client's lease was prolonged", assumption: "the key that a renewal prolongs is still the renewer's own"},
	{Cause: RenewalFailed, ofRenewal: true, breach: (*premises).cutFromRenewing,
		meaning: "the renewal failed and the holder did not notice", assumption: "renewals keep the lease alive for as long as its holder works"},
	{Cause: LeaseOutlived, breach: (*premises).overstayed,
		meaning: "the lease ended under its holder", assumption: "a holder is done before its lease ends"},
	{Cause: ShortLease,
		meaning: "the key's TTL was shorter than the requested lease", assumption: "a key lives for as long as the requested lease"},
	{Cause: LongLease,
		meaning: "the key's TTL was longer than the requested lease", assumption: "a key is gone when the requested lease is over"},
	{Cause: ServerLostKey, breach: (*premises).forgotten,
		meaning: "Redis lost a key that it had acknowledged", assumption: "Redis keeps a key that it has acknowledged"},
	{Cause: ServerClock, breach: (*premises).nodeClockWrong,
		meaning: "a node's clock jumped", assumption: "the nodes' clocks never jump"},
	{Cause: ClientClock, breach: (*premises).clientClockWrong,
		meaning: "clients' clocks disagreed", assumption: "the clients' wall clocks agree, and a client uses at once the time that it read"},
	{Cause: NoKey,
		meaning: "the lock put nothing into Redis, where other clients would have seen it", assumption: "a client that holds the lock has a key in Redis that all other clients see"},
	{Cause: NoExpiry, ownerless: true, breach: (*premises).leftBehind,
		meaning: "a key without an expiry was left behind", assumption: "a client that takes the lock lives to release it"},
	{Cause: LateCommand, breach: (*premises).late,
		meaning: "a command of an earlier attempt arrived late", assumption: "a command that its client gave up never arrives"},
	{Cause: FenceRegressed, timeless: always, replicated: always,
		meaning: "a fencing token was not greater than all before it, or was missing", assumption: "fencing tokens only grow"},
	{Cause: OrphanedKey, ownerless: true, breach: (*premises).leftBehind,
		meaning: "an orphaned key kept everybody out until it expired", assumption: "a key in Redis has a living owner"},
	{Cause: HungHolder, ofRenewal: true, breach: (*premises).leftBehind,
		meaning: "a holder that never came back from its work kept its lease alive", assumption: "a client that renews a lease is still at work under it"},
	{Cause: FalseAnswer, timeless: always, harm: HarmAnswer,
		meaning: "an answer contradicted what the lock's own commands had done", assumption: "a lock's answers agree with what its commands did"},
	{Cause: Starved,
		meaning: "others took the lock in turn, and a waiting client never got it", assumption: "a client that asks often enough gets in sooner or later"},
	{Cause: LeftFree,
		meaning: "the lock was free, and a waiting client never took it", assumption: "a waiting client takes the lock once it is free"},
	{Cause: CrossSlot, timeless: always, replicated: never,
		meaning: "a Redis Cluster refused a command whose keys are in different slots", assumption: "all keys of a command are in one slot"},
	{Cause: Deadlock, timeless: always,
		meaning: "the code under test waits for ever", assumption: "every reply arrives, and something ends every wait"},
	{Cause: Panic, timeless: always,
		meaning: "the code under test panicked", assumption: "errors come back as errors"},
	{Cause: Runaway,
		meaning: "the code under test does not come to an end", assumption: "a retry succeeds sooner or later"},
	{Cause: Unmarked,
		meaning: "clients did a job twice, because their program did not record that the job was done", assumption: "a client that gets the lock is the first to get it"},
	{Cause: Unclassified,
		meaning: "a violation that the evidence does not explain", assumption: ""},
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

// row returns the row of the cause. An unknown cause has a row with its name only.
func (c Cause) row() causeRow {
	for _, row := range causes {
		if row.Cause == c {
			return row
		}
	}
	return causeRow{Cause: c, meaning: string(c)}
}

// Meaning returns what happened in a few words, or the name of an unknown cause.
func (c Cause) Meaning() string { return c.row().meaning }

// Assumption returns the broken assumption of the recipe as a clause that completes "the
// assumption that …".
func (c Cause) Assumption() string { return c.row().assumption }

// OfRenewal reports whether only a lock that renews its leases can show the cause.
func (c Cause) OfRenewal() bool { return c.row().ofRenewal }

// Ownerless reports whether the cause is a key that kept clients out after its owner was
// gone.
func (c Cause) Ownerless() bool { return c.row().ownerless }

// RenewedUnheld reports whether the cause is a client that prolongs a key without holding
// the lock.
func (c Cause) RenewedUnheld() bool { return c.row().renewedUnheld }

func always(history.Claims, Finding) bool { return true }
func never(history.Claims, Finding) bool  { return false }

// raceIsTimeless reports whether a race is certain in spite of stalls of the harness. Two grants by the
// protocol itself are certain, unless the protocol judges by times that clients read. An overlap of
// beliefs (lasted > 0) is not certain, since it depends on timing.
func raceIsTimeless(c history.Claims, f Finding) bool { return !c.ClientClock && f.lasted == 0 }
