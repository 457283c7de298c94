package nemesis

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

// swept returns the schedules of a fault's sweep for a lock on one node.
func swept(t *testing.T, fault string, rounds int) []Schedule {
	t.Helper()
	all, err := Sweep(fault, worldOf(setNXPX, testbed.Single), rounds)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestASweepDiffersInNothingButTheSize(t *testing.T) {
	folder := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-1of2$`)
	for _, f := range All() {
		if f.Axis() == "" {
			if all := swept(t, f.Name, 2); len(all) > 0 || len(f.Sizes()) > 0 {
				t.Errorf("%s has no sweep, but %d schedules and sizes %v", f.Name, len(all), f.Sizes())
			}
			continue
		}
		plans, names := map[float64][]Plan{}, map[string]bool{}
		for _, s := range swept(t, f.Name, 2) {
			if names[s.Name] || !folder.MatchString(s.Name) {
				t.Errorf("%s: %q names a second schedule or no folder", f.Name, s.Name)
			}
			names[s.Name] = true
			a := s.Plan[0]
			size := a.Offset
			if a.Offset == 0 {
				size, a.For = a.For, 0
			}
			if got := size.Seconds() / testTTL.Seconds(); got != s.Size || a.Fault != f.Name {
				t.Errorf("%s: %s strikes with %v by %s, want %v", f.Name, s.Name, got, a.Fault, s.Size)
			}
			a.Offset, a.Idea = 0, ""
			plans[s.Size] = append(plans[s.Size], Plan{a})
		}
		if len(plans) != len(f.Sizes()) {
			t.Errorf("%s: %d sizes are struck with, want %v", f.Name, len(plans), f.Sizes())
		}
		for _, size := range f.Sizes() {
			if !reflect.DeepEqual(plans[size], plans[f.Sizes()[0]]) {
				t.Errorf("%s: plans of size %v are\n%+v\nwant those of size %v:\n%+v", f.Name, size, plans[size], f.Sizes()[0], plans[f.Sizes()[0]])
			}
		}
	}
}

func TestMoreRoundsOfASweepKeepTheFirstOnes(t *testing.T) {
	one, two := swept(t, "client-pause", 1), swept(t, "client-pause", 2)
	if len(one) == 0 || len(two) != 2*len(one) || !reflect.DeepEqual(two[:len(one)], one) {
		t.Errorf("one round has %d schedules; the first of two rounds has others, of %d in all", len(one), len(two))
	}
	if all := swept(t, "client-pause", 0); len(all) > 0 {
		t.Errorf("no round has %d schedules", len(all))
	}
}

func TestASweepStrikesWhereItsFaultCan(t *testing.T) {
	w := worldOf(setNXPX, testbed.Single)
	w.KeyLife, w.Times = 0, false
	if all, err := Sweep("node-clock", w, 1); !errors.Is(err, ErrNotSupported) || len(all) > 0 {
		t.Errorf("keys without an expiry: %d schedules, %v; want none, and %v", len(all), err, ErrNotSupported)
	}
	if _, err := Sweep("no-such-fault", w, 1); err == nil {
		t.Error("an unknown fault has a sweep")
	}
	if _, err := Sweep("client-pause", World{}, 1); err == nil {
		t.Error("a world without a lease time has a sweep")
	}
}

func TestSizesOfASweepAscendAndAreNeverZero(t *testing.T) {
	for _, f := range All() {
		sizes := f.Sizes()
		if !slices.IsSorted(sizes) || slices.Contains(sizes, 0) || len(slices.Compact(slices.Clone(sizes))) != len(sizes) {
			t.Errorf("%s: sizes %v", f.Name, sizes)
		}
	}
}
