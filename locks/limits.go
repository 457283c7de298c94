package locks

import "slices"

// Known holds the known properties of a lock whose recipe declares no flaws. Limits derives the
// limits of the lock's leases from them.
type Known struct {
	// Deadlines: the lock tells a holder the end of its lease.
	Deadlines bool
	// Renews: the lock promises that a lease lasts for as long as its holder works.
	Renews bool
	// Fenced: grants carry fencing tokens, and the guarded resource refuses older ones.
	Fenced bool
	// Reentrant: while a holder works, it acquires the lock again, and asks Redis each time.
	Reentrant bool
}

// Limits returns the violations that no lease of such a lock can prevent by itself. They have
// these causes:
//
//   - a client that is frozen for longer than its lease;
//   - a holder that gets no reply for a whole lease, so that it cannot renew or re-enter;
//   - a node that forgets an acknowledged key;
//   - a clock that jumps;
//   - a key without an owner, which keeps others out until it expires;
//   - a holder that works for longer than a lease that nobody renews;
//   - a holder whose work hangs while a watchdog renews its lease.
//
// A violation that Limits does not list breaks a promise, or a property that the lock's own
// commands could have kept.
//
// If a node's clock is set back, a key without an owner keeps others out for longer. As a
// rule, such a key needs a second fault, such as a crash of its owner. No second fault is needed if
// the lock stores the end of a lease in the key's value and lets the next client take over an
// expired lease.
//
// All returned flaws are of kind Limit. They may show under the faults in Also; Faults is empty, so
// no run has to find them.
func Limits(k Known) []Flaw {
	groups := [][]Flaw{hungHolder(anyLock), serverLostKey(), serverClock(), may([]string{"node-clock"}, prolongedKey()), lostRenewals(), extendedByOldPrimary()}
	if k.Deadlines {
		groups = append(groups, deadlineCheckedTooEarly(), deadlineMoved("exclusion", "resource"),
			orphanedUnder(append(clientClockFaults, frozenOrStranded...)))
	} else {
		groups = append(groups, leaseOutlived(), orphanedUnder(frozenOrStranded))
		if !k.Renews {
			groups = append(groups, workOutlived(anyLock))
		}
		if k.Reentrant {
			groups = append(groups, reentryOutlived())
		}
	}
	if k.Fenced {
		groups = append(groups, lostCounter())
	}
	limits := flaws(groups...)
	for i, f := range limits {
		limits[i].Faults, limits[i].Also = nil, append(without(f.Faults), f.Also...)
	}
	return limits
}

// OnlyLimits reports whether the lock is a user's own (Own) and its recipe declares only flaws of
// kind Limit without Faults, as Limits returns them.
func (r Recipe) OnlyLimits() bool {
	return r.Own && !slices.ContainsFunc(r.Flaws, func(f Flaw) bool { return f.Kind != Limit || len(f.Faults) > 0 })
}

// anyLock is the source (Flaw.Source) of limits that no document states.
const anyLock = "leases of any lock"

// frozenOrStranded are faults that leave a key behind: nobody releases it, or its owner releases it
// late.
var frozenOrStranded = append([]string{"client-pause"}, strandingFaults...)

// reentryOutlived returns the limits of a re-entrant holder. Inside its critical section the holder
// may wait for a reply for longer than its lease.
func reentryOutlived() []Flaw {
	return under([]string{"partition", "partition-requests", "partition-replies", "delay", "node-pause"},
		"lease-outlived", Limit,
		"A holder whose re-entries or releases get no answer for longer than the lease still believes that it holds the lock, while the key expires and another client gets in.",
		kleppmann, "exclusion", "resource")
}

// lostRenewals returns the limits of a holder that does not reach the node for a whole lease. A
// single lost renewal is not a limit: the next renewal could keep the lease.
func lostRenewals() []Flaw {
	return under([]string{"client-pause", "node-pause", "partition", "partition-requests", "partition-replies", "node-restart", "failover", "split-brain"},
		"renewal-failed", Limit,
		"A holder that is frozen, or does not reach the node for a whole lease, cannot renew it.",
		kleppmann, "exclusion", "resource")
}

// lostCounter returns the limits of fencing tokens: their counter can be lost like the lock's key.
func lostCounter() []Flaw {
	const why = "A node that forgets the counter hands out old fencing tokens again, which the resource cannot tell from new ones."
	return flaws(
		under(losingFaults, "fence-regressed", Limit, why, redisFailed, "fencing"),
		under(losingFaults, "lease-outlived", Limit, why, redisFailed, "resource"),
	)
}
