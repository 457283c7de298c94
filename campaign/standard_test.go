package campaign

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/workloads"
)

func TestStandardWorkloadsAreWhatTheRegistrySays(t *testing.T) {
	names := func(these func(workloads.Workload) bool) (all []string) {
		for _, w := range workloads.All() {
			if these(w) {
				all = append(all, w.Name)
			}
		}
		return all
	}
	any := func(workloads.Workload) bool { return true }
	standard := func(w workloads.Workload) bool { return w.Standard }
	for _, test := range []struct {
		choice []string
		want   []string
	}{
		{[]string{"standard"}, names(standard)},
		{[]string{" standard", "mutex"}, names(standard)},
		{[]string{"all"}, names(any)},
		{[]string{"standard", "all"}, names(any)},
		{[]string{"mutex"}, []string{"mutex"}},
	} {
		bodies, err := chosenWorkloads(Config{Workloads: test.choice}.filled(modest).Workloads)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range bodies {
			got = append(got, w.Name)
		}
		if len(got) == 0 || !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.choice, got, test.want)
		}
	}
}

func TestStandardIsOfferedAmongTheWorkloads(t *testing.T) {
	_, err := chosenWorkloads([]string{"standart"})
	var wrong *input.Error
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "did you mean standard") {
		t.Errorf("got %v, want an InputError that offers standard", err)
	}
}

// Blanks and the order of the chosen workloads do not change which flaws count as missed.
func TestBlanksInAChoiceOfWorkloadsMeanNothing(t *testing.T) {
	c := Config{Workloads: []string{"lottery", " standard"}}.filled(modest)
	if !(Info{Config: c}).everyWorkload() {
		t.Errorf("%q leaves out standard workloads", c.Workloads)
	}
}

func TestALockHasTheWorkloadMutexIfItSuits(t *testing.T) {
	for lock, want := range map[string]string{"set-nx-px": "mutex", "rw-hash": "read-write"} {
		r, _ := locks.ByID(lock)
		if w, ok := UsualWorkload(r.Claims(time.Second, 1)); !ok || w.Name != want {
			t.Errorf("%s: got %q, %t; want %s", lock, w.Name, ok, want)
		}
	}
}
