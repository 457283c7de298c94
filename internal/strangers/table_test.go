package strangers

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
)

// mix is the fault that is made of all others.
const mix = "chaos"

// Groups of faults.
var (
	// stranding leave a key behind that nobody will release.
	stranding = []string{"client-crash", "client-pause", "lost-reply", "partition", "partition-requests", "partition-replies",
		"delay", "reset", "node-pause", "node-restart", "failover", "split-brain"}
	// losing are the faults by which a node forgets what it acknowledged, or a second
	// primary serves without it.
	losing = []string{"node-restart", "failover", "eviction", "split-brain"}
	// cutting keep a client from its node.
	cutting = []string{"partition", "partition-requests", "partition-replies", "lost-reply", "delay", "reset",
		"client-pause", "node-pause", "node-restart", "failover", "split-brain"}
	// columns are all faults that can strike a lock on one node.
	columns = []string{"none", "client-crash", "client-pause", "slow-work", "hung-work", "partition", "partition-requests", "partition-replies", "lost-reply", "delay", "reset",
		"node-pause", "node-restart", "failover", "split-brain", "client-skew", "node-clock", "script-flush", "eviction"}
)

// beliefs are the oracles that a lease fails when it ends under its holder.
var beliefs = []string{"exclusion", "resource"}

// limits are what no lease on one node can promise. Holders that learn too late, or never,
// that their lease has ended go on.
func limits() []may { return rowsOf(locks.Limits(locks.Known{})) }

// deadlines are the limits of leases with a deadline. At the deadline a holder stops, but
// commands on their way do not. The deadline is an instant of the client's wall clock.
func deadlines() []may { return rowsOf(locks.Limits(locks.Known{Deadlines: true})) }

// rowsOf makes rows of flaws. It leaves out those that concern renewing or extending a lease:
// locks that renew or extend have these rows in their own tables.
func rowsOf(flaws []locks.Flaw) []may {
	var rows []may
	for _, f := range flaws {
		if f.Cause != string(checker.RenewalFailed) && f.Oracle != "extension" {
			rows = append(rows, may{[]string{f.Oracle}, checker.Cause(f.Cause), f.Also})
		}
	}
	return rows
}

// wrong is a mistake that may show under any fault.
func wrong(cause checker.Cause, oracles ...string) []may { return []may{{oracles, cause, nil}} }

// mistaken is a mistake that may show under these faults.
func mistaken(faults []string, cause checker.Cause, oracles ...string) []may {
	return []may{{oracles, cause, faults}}
}

func all(groups ...[]may) []may { return slices.Concat(groups...) }

// finds is a violation by one of these causes that has to show under the fault.
func finds(fault, oracle string, causes ...checker.Cause) row {
	return row{fault: fault, oracle: oracle, result: checker.Violated, causes: causes}
}

// blocks is finds of what blocks somebody for ever.
func blocks(fault string, causes ...checker.Cause) row {
	r := finds(fault, "liveness", causes...)
	r.forever = true
	return r
}

// holds is what an oracle has nothing to say against.
func holds(fault, oracle string) row {
	return row{fault: fault, oracle: oracle, result: checker.Held}
}

// in is the row about one trial.
func (r row) in(workload, schedule string) row {
	r.workload, r.schedule = workload, schedule
	return r
}

// shown are the limits of a lease on one node that named schedules bring about.
func shown() []row {
	return []row{
		finds("client-pause", "exclusion", checker.LeaseOutlived), finds("client-pause", "resource", checker.LeaseOutlived),
		finds("node-clock", "exclusion", checker.ServerClock), finds("eviction", "exclusion", checker.ServerLostKey),
		finds("node-restart", "exclusion", checker.ServerLostKey), finds("failover", "exclusion", checker.ServerLostKey),
		finds("split-brain", "exclusion", checker.ServerLostKey), finds("client-crash", "liveness", checker.OrphanedKey),
	}
}

// under is the row under each of the faults.
func under(faults []string, r row) []row {
	var rows []row
	for _, r.fault = range faults {
		rows = append(rows, r)
	}
	return rows
}

func rows(groups ...[]row) []row { return slices.Concat(groups...) }

// plain is a lease on one node without a mistake.
func plain() promised { return promised{may: limits(), rows: shown()} }

// odder adds trials with a lease time that is no whole number of seconds.
func odder(p promised) promised {
	p.odd = 1500 * time.Millisecond
	return p
}

// renewed is what a watchdog adds: it may fail.
func renewed(faults ...string) []may {
	return mistaken(faults, checker.RenewalFailed, beliefs...)
}
