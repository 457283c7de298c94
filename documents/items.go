package documents

import "strings"

// Names of the workloads that replays use.
const (
	mutex     = "mutex"
	reentrant = "reentrant"
	readWrite = "read-write"
)

// shows returns the replay of a named schedule that shows flaws.
func shows(lock, fault, workload, schedule string, flaws ...Flaw) Replay {
	return Replay{Lock: lock, Fault: fault, Workload: workload, Schedule: schedule, Shows: flaws}
}

// drawn returns the replay of the drawn trial 0 of seed 1, which shows flaws.
func drawn(lock, fault, workload string, flaws ...Flaw) Replay {
	return Replay{Lock: lock, Fault: fault, Workload: workload, Shows: flaws}
}

// holds returns the replay of a trial that shows no flaw: a named schedule, or the drawn trial 0 of
// seed 1 if none is given.
func holds(lock, fault, workload string, schedule ...string) Replay {
	r := Replay{Lock: lock, Fault: fault, Workload: workload}
	if len(schedule) > 0 {
		r.Schedule = schedule[0]
	}
	return r
}

// with sets the further flags of a replay.
func with(r Replay, flags string) Replay {
	r.More = strings.Fields(flags)
	return r
}

// ofLocks returns a test of package locks. here returns a test of this package.
func ofLocks(name string) Test { return Test{"locks", name} }
func here(name string) Test    { return Test{"documents", name} }

// The flaws that several items show.
var (
	race           = Flaw{"exclusion", "race"}
	leaseOutlived  = Flaw{"exclusion", "lease-outlived"}
	foreignDelete  = Flaw{"exclusion", "foreign-delete"}
	foreignRenewal = Flaw{"ownership", "foreign-renewal"}
	renewalFailed  = Flaw{"exclusion", "renewal-failed"}
	lateCommand    = Flaw{"exclusion", "late-command"}
	clientClock    = Flaw{"exclusion", "client-clock"}
	serverLostKey  = Flaw{"exclusion", "server-lost-key"}
	noExpiry       = Flaw{"liveness", "no-expiry"}
	orphanedKey    = Flaw{"liveness", "orphaned-key"}
	hungHolder     = Flaw{"liveness", "hung-holder"}
)
