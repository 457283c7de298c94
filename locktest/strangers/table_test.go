package strangers

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
)

// mix is the fault that mixes the other faults.
const mix = "chaos"

// Groups of faults.
var (
	// stranding faults leave behind a key that no client will release.
	stranding = []string{"client-crash", "client-pause", "lost-reply", "partition", "partition-requests", "partition-replies",
		"delay", "reset", "node-pause", "node-restart", "failover", "split-brain"}
	// losing faults make a node forget acknowledged writes, or let a second primary serve
	// without them.
	losing = []string{"node-restart", "failover", "eviction", "split-brain"}
	// cutting faults may keep commands or replies from arriving within a lease.
	cutting = []string{"partition", "partition-requests", "partition-replies", "lost-reply", "delay", "reset",
		"client-pause", "node-pause", "node-restart", "failover", "split-brain"}
	// columns lists all faults that can strike a lock on one node, except chaos.
	columns = []string{"none", "client-crash", "client-pause", "slow-work", "hung-work", "partition", "partition-requests", "partition-replies", "lost-reply", "delay", "reset",
		"node-pause", "node-restart", "failover", "split-brain", "client-skew", "node-clock", "script-flush", "eviction"}
)

// beliefs are the oracles that report a violation when a lease ends under its holder.
var beliefs = []string{"exclusion", "resource"}

// limits returns the violations that no lease on one node can exclude. A holder that learns
// too late, or never, that its lease has ended continues its work.
func limits() []allowed { return rowsOf(locks.Limits(locks.Known{})) }

// deadlines returns the limits of leases with a deadline. At the deadline a holder stops, but
// commands that it has sent before still arrive. The deadline is an instant of the client's wall
// clock.
func deadlines() []allowed { return rowsOf(locks.Limits(locks.Known{Deadlines: true})) }

// rowsOf permits the violations of these flaws. It leaves out the flaws that concern renewing a lease: locks
// that renew permit these in their own entries of the table (renewed).
func rowsOf(flaws []locks.Flaw) []allowed {
	var rows []allowed
	for _, f := range flaws {
		if f.Cause != string(checker.RenewalFailed) {
			rows = append(rows, allowed{[]string{f.Oracle}, checker.Cause(f.Cause), f.Also})
		}
	}
	return rows
}

// wrong permits a lock's mistake: these oracles may report violations by this cause under any
// fault.
func wrong(cause checker.Cause, oracles ...string) []allowed { return []allowed{{oracles, cause, nil}} }

// mistaken permits a lock's mistake: these oracles may report violations by this cause under these
// faults.
func mistaken(faults []string, cause checker.Cause, oracles ...string) []allowed {
	return []allowed{{oracles, cause, faults}}
}

func all(groups ...[]allowed) []allowed { return slices.Concat(groups...) }

// finds returns a row: in some trial under the fault, the oracle must find a violation by one of
// these causes.
func finds(fault, oracle string, causes ...checker.Cause) row {
	return row{fault: fault, oracle: oracle, result: checker.Violated, causes: causes}
}

// blocks returns a row: in some trial under the fault, a client must be blocked for ever by one of
// these causes.
func blocks(fault string, causes ...checker.Cause) row {
	r := finds(fault, "liveness", causes...)
	r.forever = true
	return r
}

// holds returns a row: in some trial under the fault, the oracle must find no violation.
func holds(fault, oracle string) row {
	return row{fault: fault, oracle: oracle, result: checker.Held}
}

// in restricts the row to one trial, such as "mutex" and "hold-2of3".
func (r row) in(workload, schedule string) row {
	r.workload, r.schedule = workload, schedule
	return r
}

// requiredLimits returns rows for the limits of a lease on one node: the violations that its named
// schedules must show.
func requiredLimits() []row {
	return []row{
		finds("client-pause", "exclusion", checker.LeaseOutlived), finds("client-pause", "resource", checker.LeaseOutlived),
		finds("node-clock", "exclusion", checker.ServerClock), finds("eviction", "exclusion", checker.ServerLostKey),
		finds("node-restart", "exclusion", checker.ServerLostKey), finds("failover", "exclusion", checker.ServerLostKey),
		finds("split-brain", "exclusion", checker.ServerLostKey), finds("client-crash", "liveness", checker.OrphanedKey),
	}
}

// under repeats the row for each of the faults.
func under(faults []string, r row) []row {
	var rows []row
	for _, r.fault = range faults {
		rows = append(rows, r)
	}
	return rows
}

func rows(groups ...[]row) []row { return slices.Concat(groups...) }

// plain returns the expectations of a lease on one node without a mistake.
func plain() promised { return promised{allowed: limits(), rows: requiredLimits()} }

// odder adds trials with a lease of 1.5 s, for locks that might round it to whole seconds.
func odder(p promised) promised {
	p.secondTTL = 1500 * time.Millisecond
	return p
}

// renewed permits what a watchdog adds to the limits: under these faults the watchdog's renewals may
// fail, so that a lease ends under its holder.
func renewed(faults ...string) []allowed {
	return mistaken(faults, checker.RenewalFailed, beliefs...)
}
