package nemesis

import (
	"regexp"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

func TestSchedulesOfAFaultHaveNamesOfTheirOwnThatCanNameFolders(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-[012]of[1238]$`)
	total := 0
	for topology, sends := range map[testbed.Topology]commands{
		testbed.Single: setNXPX, testbed.Replicated: getDel, testbed.Independent: setNXPX,
	} {
		for _, f := range All() {
			all, err := Named(f.Name, worldOf(sends, topology))
			if err != nil {
				continue // the fault cannot strike in this topology
			}
			seen := map[string]bool{}
			for _, s := range all {
				if !name.MatchString(s.Name) || seen[s.Name] {
					t.Errorf("%s under %s: %q names a second schedule or no folder", topology, f.Name, s.Name)
				}
				seen[s.Name] = true
			}
			total += len(all)
		}
	}
	if total < 100 {
		t.Errorf("got %d schedules, want at least 100", total)
	}
}

// schedulesOf returns a fault's schedules for a lock on one node, by their names.
func schedulesOf(t *testing.T, fault string, readWrite bool) map[string]Schedule {
	t.Helper()
	w := worldOf(setNXPX, testbed.Single)
	w.Claims.ReadWrite = readWrite
	all, err := Named(fault, w)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Schedule{}
	for _, s := range all {
		byName[s.Name] = s
	}
	return byName
}

// Chance decides which clients read and which write, except in schedules with Writers.
func TestOfAReadWriteLockSomeSchedulesHaveWritersOnly(t *testing.T) {
	for fault, name := range map[string]string{
		"client-pause": "acquire.n0.1.before.free.writers-1of2",
		"delay":        "release.n0.1.before.again.writers-1of2",
		"node-restart": "release.n0.1.before.always.writers-1of2",
	} {
		if s := schedulesOf(t, fault, true)[name]; !s.Writers || s.Clients != 2 {
			t.Errorf("%s: %s is for %d clients, all writers: %t; want 2 and true", fault, name, s.Clients, s.Writers)
		}
		for other, s := range schedulesOf(t, fault, false) {
			if s.Writers {
				t.Errorf("%s: %s has writers only, of a lock that knows no readers", fault, other)
			}
		}
	}
}

func TestReadersAndWritersAreLeftUndisturbedMoreThanOnce(t *testing.T) {
	if all := schedulesOf(t, "none", false); len(all) != 0 {
		t.Errorf("%d undisturbed schedules of a mutex, want none beside its probe", len(all))
	}
	all := schedulesOf(t, "none", true)
	if len(all) != len(calm) {
		t.Errorf("%d undisturbed schedules, want %d", len(all), len(calm))
	}
	for name, s := range all {
		if len(s.Plan) > 0 {
			t.Errorf("%s disturbs", name)
		}
	}
}

func TestAClientFreezesWithinItsLeaseUntilAnotherHasHadTheLock(t *testing.T) {
	w := worldOf(setNXPX, testbed.Single)
	s, ok := schedulesOf(t, "client-pause", false)["acquire.n0.1.replied.within-1of2"]
	if !ok || len(s.Plan) != 1 {
		t.Fatalf("got %+v, want one action", s)
	}
	a := s.Plan[0]
	if a.length() >= w.TTL || a.Until == nil || a.Until.Step != testbed.StepRest || a.Until.Who != Other {
		t.Errorf("it lasts %v until %+v, want less than the lease of %v, until another rests", a.length(), a.Until, w.TTL)
	}
}
