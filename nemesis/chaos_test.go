package nemesis

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// mixOf draws a world and a plan of chaos in it. The result is false if the world has no such plan.
func mixOf(t *rapid.T) (World, Plan, bool) {
	w := someWorld(t)
	p, err := New(rapid.Uint64().Draw(t, "seed"), []string{"chaos"}, w, rapid.IntRange(0, 9).Draw(t, "k"))
	return w, p, err == nil
}

func TestChaosDoesOneThingAtATimeToNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, p, _ := mixOf(t)
		ends, last := map[string]time.Duration{}, map[string]int{}
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
		}
	})
}

func TestChaosTakesWhatTheWorldAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p, _ := mixOf(t)
		promoted := false
		for _, a := range p {
			f, _ := ByName(a.Fault)
			if len(f.missing(w.Capabilities)) > 0 {
				t.Fatalf("%s needs %v, the world has %v", f.Name, f.Needs, w.Capabilities)
			}
			if why, is := f.impossible(w); is {
				t.Fatalf("%s: %s", f.Name, why.Words())
			}
			if f.promotes() && w.Topology != testbed.Replicated {
				t.Fatalf("%s in a %s topology", f.Name, w.Topology)
			}
			if promoted && f.ofNodes() {
				t.Fatalf("%s follows a promotion: %s", f.Name, encode(t, p))
			}
			promoted = promoted || f.promotes()
			if a.Durability != "" && a.Durability != p.Durability() {
				t.Fatalf("nodes keep %s and %s", a.Durability, p.Durability())
			}
		}
	})
}

func TestChaosKillsNobodyTwiceAndNotEverybody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, p, _ := mixOf(t)
		var dead []int
		for _, a := range p {
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

func TestPlansKeepToWholeMicroseconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := someWorld(t)
		w.TTL += time.Duration(rapid.IntRange(0, 999).Draw(t, "odd"))
		for _, f := range All() {
			p, err := New(rapid.Uint64().Draw(t, "seed"), []string{f.Name}, w, rapid.IntRange(0, 9).Draw(t, "k"))
			if err != nil {
				continue
			}
			for _, a := range p {
				if !whole(a) {
					t.Fatalf("%s: %s", f.Name, encode(t, p))
				}
				if err := sound(w, p, a); err != nil {
					t.Fatalf("%s: fault %d: %v: %s", f.Name, a.ID, err, encode(t, p))
				}
			}
		}
	})
}

// whole reports whether an action's times, except Linger and Away, are whole microseconds.
func whole(a Action) bool {
	return !slices.ContainsFunc([]time.Duration{a.At, a.Delay, a.By, a.For, a.Limit, a.Offset}, func(d time.Duration) bool {
		return d%time.Microsecond != 0
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
	both := []testbed.Topology{testbed.Single, testbed.Replicated}
	for _, test := range []struct {
		have []testbed.Topology
		want testbed.Topology
	}{{both, testbed.Replicated}, {both[:1], testbed.Single}} {
		if got, err := Supported(chaos, locks.Single, test.have, nil); got != test.want || err != nil {
			t.Errorf("chaos with %v = %q, %v; want %q", test.have, got, err, test.want)
		}
	}
}
