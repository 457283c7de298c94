package nemesis

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/testbed"
)

// A plan of chaos does one thing at a time to nodes, takes only faults that the world allows, promotes once, and leaves a
// client alive.
func TestChaosDoesWhatTheWorldAllowsOneThingAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := someWorld(t)
		p, err := New(rapid.Uint64().Draw(t, "seed"), []string{"chaos"}, w, rapid.IntRange(0, 9).Draw(t, "k"))
		if err != nil {
			return
		}
		ends, last := map[string]time.Duration{}, map[string]int{}
		promoted, dead := false, []int{}
		for _, a := range p {
			f, _ := ByName(a.Fault)
			track := f.Name
			if f.ofNodes() {
				track = "nodes"
			}
			if a.At < ends[track] || a.After != last[track] {
				t.Fatalf("fault %d on %s starts at %v after fault %d, want after fault %d, which ends by %v: %s",
					a.ID, track, a.At, a.After, last[track], ends[track], encode(t, p))
			}
			ends[track], last[track] = a.By+a.length(), a.ID
			if why := f.impossible(w); why != nil || len(f.missing(w.Capabilities)) > 0 {
				t.Fatalf("%s needs %v, the world has %v; %s", f.Name, f.Needs, w.Capabilities, why.Words())
			}
			if promoted && f.ofNodes() || f.promotes() && w.Topology != testbed.Replicated {
				t.Fatalf("%s follows a promotion, or needs a replica: %s", f.Name, encode(t, p))
			}
			promoted = promoted || f.promotes()
			if err := sound(w, p, a); err != nil {
				t.Fatalf("fault %d: %v: %s", a.ID, err, encode(t, p))
			}
			if a.Fault != clientCrash.Name {
				continue
			}
			victims := []int{a.Client}
			if a.Point != nil {
				victims = a.Point.Clients
			}
			if len(victims) != 1 || slices.Contains(dead, victims[0]) {
				t.Fatalf("%v are to die, %v are dead: %s", victims, dead, encode(t, p))
			}
			dead = append(dead, victims...)
		}
		if len(dead) >= w.Clients {
			t.Fatalf("all %d clients die: %s", w.Clients, encode(t, p))
		}
	})
}

func TestActionsNeverShareAnInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "t"))
		one := Action{ID: rapid.IntRange(1, 50).Draw(t, "one")}
		two := Action{ID: rapid.IntRange(51, 100).Draw(t, "two")}
		for _, a := range []Action{one, two} {
			if s := a.slot(at); s < at || s >= at+100*time.Microsecond || s%time.Microsecond != 0 || a.slot(s) != s {
				t.Fatalf("slot of action %d at %v = %v", a.ID, at, s)
			}
		}
		if one.slot(at) == two.slot(at) {
			t.Fatalf("actions %d and %d share %v", one.ID, two.ID, one.slot(at))
		}
	})
}

func TestChaosIsAnotherOneForEachTrial(t *testing.T) {
	w := worldOf(setNXPX, testbed.Replicated)
	met := map[string]bool{}
	plans := map[string]bool{}
	for k := range 60 {
		p, err := New(7, []string{"chaos"}, w, k)
		if err != nil || len(p) == 0 {
			t.Fatalf("trial %d: plan %v, %v", k, p, err)
		}
		for _, f := range p.Faults() {
			met[f] = true
		}
		plans[asJSON(p[0].timing())+p[0].Idea] = true
	}
	for _, f := range disturbances {
		// The world has no scripts and no slots.
		if f.Name != scriptFlush.Name && f.Name != slotMigration.Name && !met[f.Name] {
			t.Errorf("%s is in none of 60 plans", f.Name)
		}
	}
	if len(plans) < 30 {
		t.Errorf("60 plans begin in %d ways, want more", len(plans))
	}
}

func TestChaosNeedsSomethingToDo(t *testing.T) {
	w := worldOf(setNXPX, testbed.Single)
	w.Capabilities = nil
	if _, err := New(1, []string{"chaos"}, w, 0); err == nil {
		t.Error("New succeeds where nothing can be disturbed, want an error")
	}
}
