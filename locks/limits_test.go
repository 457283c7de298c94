package locks_test

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
)

// Limits name existing faults, oracles and causes. None of their causes is a mistake of the lock's own
// commands, such as checker.ForeignDelete.
func TestLimitsOfAnyLeaseNameWhatExists(t *testing.T) {
	own := []checker.Cause{
		checker.Race, checker.ForeignDelete, checker.ForeignRenewal, checker.NoExpiry, checker.LateCommand,
		checker.Starved, checker.Deadlock, checker.Panic, checker.Runaway, checker.Unclassified, checker.NoKey, checker.LongLease, checker.FalseAnswer,
	}
	for bits := range 16 {
		k := locks.Known{Deadlines: bits&1 != 0, Renews: bits&2 != 0, Fenced: bits&4 != 0, Reentrant: bits&8 != 0}
		for _, f := range locks.Limits(k) {
			switch {
			case f.Kind != locks.Limit || len(f.Faults) > 0 || len(f.Also) == 0 || f.Why == "" || f.Source == "":
				t.Errorf("%+v: incomplete: %+v", k, f)
			case checker.OracleNamed(f.Oracle).Judge == nil || !slices.Contains(checker.Causes(), checker.Cause(f.Cause)):
				t.Errorf("%+v: no such oracle or cause: %s by %s", k, f.Oracle, f.Cause)
			case slices.Contains(own, checker.Cause(f.Cause)):
				t.Errorf("%+v: %s by %s is a lock's own doing", k, f.Oracle, f.Cause)
			}
			for _, fault := range f.Also {
				if _, ok := nemesis.ByName(fault); !ok {
					t.Errorf("%+v: no such fault: %s", k, fault)
				}
			}
		}
	}
}

// Each known property of a lock adds or removes limits. For example, "lease-outlived" under slow-work is
// a limit only of locks that do not renew their leases.
func TestWhatIsKnownOfALockNarrowsItsLimits(t *testing.T) {
	excused := func(k locks.Known, oracle, cause, fault string) bool {
		_, ok := locks.Recipe{Flaws: locks.Limits(k)}.Declares(oracle, cause, fault)
		return ok
	}
	for _, test := range []struct {
		known                locks.Known
		oracle, cause, fault string
		want                 bool
	}{
		{locks.Known{}, "exclusion", "lease-outlived", "client-pause", true},
		{locks.Known{Deadlines: true}, "exclusion", "lease-outlived", "client-pause", false},
		{locks.Known{Deadlines: true}, "resource", "lease-outlived", "client-pause", true},
		{locks.Known{}, "exclusion", "lease-outlived", "none", false},
		{locks.Known{}, "exclusion", "lease-outlived", "delay", false},
		{locks.Known{Reentrant: true}, "exclusion", "lease-outlived", "delay", true},
		{locks.Known{Reentrant: true}, "exclusion", "lease-outlived", "none", false},
		{locks.Known{Reentrant: true}, "reentrancy", "lease-outlived", "client-pause", false},
		{locks.Known{Reentrant: true, Deadlines: true}, "exclusion", "lease-outlived", "delay", false},
		{locks.Known{}, "exclusion", "lease-outlived", "slow-work", true},
		{locks.Known{Renews: true}, "exclusion", "lease-outlived", "slow-work", false},
		{locks.Known{Renews: true}, "exclusion", "renewal-failed", "slow-work", false},
		{locks.Known{Renews: true}, "exclusion", "renewal-failed", "lost-reply", false},
		{locks.Known{Renews: true}, "exclusion", "renewal-failed", "partition", true},
		{locks.Known{}, "liveness", "orphaned-key", "client-crash", true},
		{locks.Known{}, "liveness", "orphaned-key", "none", false},
		{locks.Known{}, "liveness", "server-clock", "node-clock", true},
		{locks.Known{}, "liveness", "server-clock", "client-pause", false},
		{locks.Known{}, "fencing", "fence-regressed", "failover", false},
		{locks.Known{Fenced: true}, "fencing", "fence-regressed", "failover", true},
		{locks.Known{Fenced: true}, "fencing", "fence-regressed", "delay", false},
		{locks.Known{}, "extension", "server-lost-key", "split-brain", true},
		{locks.Known{}, "extension", "server-lost-key", "delay", false},
	} {
		if got := excused(test.known, test.oracle, test.cause, test.fault); got != test.want {
			t.Errorf("%+v: %s by %s under %s is a limit: %t, want %t", test.known, test.oracle, test.cause, test.fault, got, test.want)
		}
	}
}
