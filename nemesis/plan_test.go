package nemesis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// everything lists all capabilities that a testbed can have.
var everything = []testbed.Capability{
	testbed.CanNetwork, testbed.CanNodes, testbed.CanClocks, testbed.CanClients,
	testbed.CanNodeClocks, testbed.CanMemory, testbed.CanSplitBrain, testbed.CanSlots,
}

// someWorld draws a random world: its shape, its times, and a protocol.
func someWorld(t *rapid.T) World {
	w := World{
		Clients:        rapid.IntRange(1, 6).Draw(t, "clients"),
		Nodes:          []string{"n0"},
		Topology:       rapid.SampledFrom([]testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}).Draw(t, "topology"),
		TTL:            time.Duration(rapid.IntRange(10, 3000).Draw(t, "ttl")) * time.Millisecond,
		CommandTimeout: time.Duration(rapid.IntRange(0, 3000).Draw(t, "timeout")) * time.Millisecond,
		Capabilities:   rapid.SliceOfDistinct(rapid.SampledFrom(everything), rapid.ID).Draw(t, "capabilities"),
	}
	w.Claims = history.Claims{TTL: w.TTL, Quorum: 1}
	if w.Topology == testbed.Independent {
		for i := 1; i < rapid.IntRange(2, 7).Draw(t, "nodes"); i++ {
			w.Nodes = append(w.Nodes, fmt.Sprintf("n%d", i))
		}
		w.Claims.Quorum = len(w.Nodes)/2 + 1
	}
	w.Hold, w.Retry = w.TTL/10, w.TTL/40
	w.Duration = w.TTL * time.Duration(rapid.IntRange(1, 8).Draw(t, "leases"))
	w.Claims.Recovery = w.TTL * time.Duration(rapid.IntRange(0, 4).Draw(t, "recovery"))
	w.KeyLife = w.TTL * time.Duration(rapid.IntRange(0, 2).Draw(t, "key's life"))
	w.Claims.ReadWrite = rapid.Bool().Draw(t, "read-write")
	if rapid.Bool().Draw(t, "scripts") {
		w.Scripts = true
	}
	for _, step := range []string{testbed.StepAcquire, testbed.StepRead, testbed.StepRelease} {
		for _, node := range w.Nodes {
			for n := range rapid.IntRange(0, 3).Draw(t, step+" on "+node) {
				for _, when := range whens {
					w.Points = append(w.Points, testbed.Point{Client: history.NoClient, Step: step, Node: node, N: n + 1, When: when})
				}
			}
		}
	}
	return w
}

// variants returns all plans of a fault in a world; nil if the fault cannot strike there.
func variants(f Fault, w World, seed uint64) []Plan {
	if f.impossible(w) != nil {
		return nil
	}
	return f.variants(w, dice(seed, f.Name, 0))
}

func TestPlansAreTheSameForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, seed, k := someWorld(t), rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 30).Draw(t, "k")
		for _, f := range All() {
			one, err1 := New(seed, []string{f.Name}, w, k)
			two, err2 := New(seed, []string{f.Name}, w, k)
			if fmt.Sprint(err1) != fmt.Sprint(err2) {
				t.Fatalf("%s: errors %v and %v of the same arguments", f.Name, err1, err2)
			}
			if a, b := encode(t, one), encode(t, two); !bytes.Equal(a, b) {
				t.Fatalf("%s: plans of the same arguments differ:\n%s\n%s", f.Name, a, b)
			}
		}
	})
}

func TestOrderOfVariantsDoesNotDependOnTheSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := someWorld(t)
		for _, f := range All() {
			if f.Mix {
				continue // each seed gives another variant
			}
			one, two := variants(f, w, 1), variants(f, w, rapid.Uint64().Draw(t, "seed"))
			if a, b := ideas(one), ideas(two); !slices.Equal(a, b) {
				t.Fatalf("%s: variants are %q with one seed and %q with another", f.Name, a, b)
			}
		}
	})
}

func ideas(plans []Plan) []string {
	var all []string
	for _, p := range plans {
		for _, a := range p {
			all = append(all, a.Idea)
		}
		all = append(all, "/")
	}
	return all
}

// Every plan strikes what there is, ends in time, keeps to whole microseconds, needs one durability of the nodes, and
// can be stored.
func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := someWorld(t)
		w.TTL += time.Duration(rapid.IntRange(0, 999).Draw(t, "odd"))
		for _, f := range All() {
			for i, p := range variants(f, w, 1) {
				p.wholeMicroseconds() // as New does
				stored := encode(t, p)
				var back Plan
				if err := json.Unmarshal(stored, &back); err != nil || !bytes.Equal(stored, encode(t, back)) {
					t.Fatalf("%s, variant %d: %s came back as %s, %v", f.Name, i, stored, encode(t, back), err)
				}
				if p.Durability() == "" && f.Name == nodeRestart.Name {
					t.Fatalf("variant %d of a restart does not say what nodes keep: %s", i, stored)
				}
				for _, a := range p {
					if err := sound(w, p, a); err != nil {
						t.Fatalf("%s, variant %d: fault %d: %v in %s", f.Name, i, a.ID, err, stored)
					}
				}
			}
		}
	})
}

// sound returns nil if the action is valid in this plan and world; otherwise the error says what is
// wrong with the action.
func sound(w World, p Plan, a Action) error {
	if slices.IndexFunc(p, func(b Action) bool { return a.ID == b.ID }) != a.ID-1 {
		return errors.New("IDs do not count from 1")
	}
	if a.After >= a.ID {
		return fmt.Errorf("it waits for fault %d", a.After)
	}
	if _, ok := ByName(a.Fault); !ok || a.Idea == "" {
		return fmt.Errorf("no fault or no idea: %q, %q", a.Fault, a.Idea)
	}
	if a.At < 0 || a.At >= w.Duration || a.By < a.At || a.length() < 0 || a.By+a.length() > w.Duration {
		return fmt.Errorf("from %v by %v for %v does not fit %v", a.At, a.By, a.length(), w.Duration)
	}
	if a.Point == nil && a.Client != history.NoClient && (a.Client < 0 || a.Client >= w.Clients) {
		return fmt.Errorf("client %d of %d", a.Client, w.Clients)
	}
	if a.Durability != "" && a.Durability != p.Durability() {
		return fmt.Errorf("it needs %s, the plan %s", a.Durability, p.Durability())
	}
	for _, d := range []time.Duration{a.At, a.Delay, a.By, a.For, a.Limit, a.Offset} {
		if d%time.Microsecond != 0 {
			return fmt.Errorf("%v is no whole number of microseconds", d)
		}
	}
	for _, trigger := range []*Trigger{a.Arm, a.Point, a.Until} {
		if trigger == nil {
			continue
		}
		for _, c := range trigger.Clients {
			if c < 0 || c >= w.Clients {
				return fmt.Errorf("client %d of %d", c, w.Clients)
			}
		}
		if (trigger.N == 0) != (trigger.When == "") || trigger.Node != "" && !slices.Contains(w.Nodes, trigger.Node) {
			return fmt.Errorf("there is no place %v", trigger)
		}
	}
	heir := w.Topology == testbed.Replicated && slices.Contains([]string{failover.Name, splitBrain.Name}, a.Fault)
	for _, n := range a.Nodes {
		if !slices.Contains(w.Nodes, n) && !heir {
			return fmt.Errorf("there is no node %s", n)
		}
	}
	for _, l := range a.Links {
		if !slices.Contains(w.Nodes, l.To) {
			return fmt.Errorf("there is no link %v", l)
		}
	}
	return nil
}

func TestFaultsThatCannotStrikeSayWhy(t *testing.T) {
	calm := World{
		Clients: 3, Nodes: []string{"n0"}, Topology: testbed.Single, TTL: time.Second, Duration: 5 * time.Second,
		Hold: 100 * time.Millisecond, Claims: history.Claims{Quorum: 1},
	}
	short := calm
	short.Duration = time.Second
	tests := []struct {
		name, fault string
		world       World
		supported   bool
	}{
		{"no fault needs nothing", "none", short, true},
		{"a flush needs scripts", "script-flush", calm, false},
		{"a failover needs a replica", "failover", calm, false},
		{"a partition longer than a lease needs a long trial", "partition", short, false},
		{"a crash needs no time", "client-crash", short, true},
	}
	for _, test := range tests {
		_, err := New(1, []string{test.fault}, test.world, 0)
		if got := !errors.Is(err, ErrNotSupported); got != test.supported || got && err != nil {
			t.Errorf("%s: New = %v, want supported %v", test.name, err, test.supported)
		}
	}
	for _, bad := range []World{{}, {Clients: 1}, {Clients: 1, Nodes: []string{"n0"}}} {
		if _, err := New(1, []string{"none"}, bad, 0); err == nil {
			t.Errorf("New of %+v succeeds, want an error", bad)
		}
	}
	if _, err := New(1, []string{"earthquake"}, calm, 0); err == nil || errors.Is(err, ErrNotSupported) {
		t.Errorf("New of an unknown fault = %v, want an error of its own", err)
	}
	if _, err := New(1, []string{"none"}, calm, -1); err == nil {
		t.Error("New of trial -1 succeeds, want an error")
	}
}

func TestFaultsOfSeveralNamesFollowOneAnotherInOnePlan(t *testing.T) {
	w := World{
		Clients: 3, Nodes: []string{"n0"}, Topology: testbed.Single, TTL: time.Second, Duration: 5 * time.Second,
		Hold: 100 * time.Millisecond, Claims: history.Claims{Quorum: 1},
	}
	p, err := New(1, []string{"client-skew", "client-pause", "node-restart"}, w, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Faults(), []string{"client-skew", "client-pause", "node-restart"}; !slices.Equal(got, want) {
		t.Errorf("faults of the plan = %v, want %v", got, want)
	}
	for _, a := range p {
		if err := sound(w, p, a); err != nil {
			t.Errorf("fault %d: %v", a.ID, err)
		}
		if a.After != 0 && p[a.After-1].Fault != a.Fault {
			t.Errorf("fault %d (%s) waits for a %s", a.ID, a.Fault, p[a.After-1].Fault)
		}
	}
}

func TestEachFaultSaysWhatItIs(t *testing.T) {
	colors := map[string]string{}
	for _, f := range All() {
		if f.Name == "" || f.Doc == "" || len(f.Color) != 7 || f.Topologies == nil || f.Plans == nil {
			t.Errorf("fault %q is not described: %+v", f.Name, f)
		}
		if other, taken := colors[f.Color]; taken {
			t.Errorf("%s and %s have one color", f.Name, other)
		}
		colors[f.Color] = f.Name
		if len(f.Plans(World{Clients: 1, Nodes: []string{"n0"}, TTL: 1, Duration: 1}, rand.New(rand.NewPCG(1, 1)))) > 0 && f.inject == nil && !f.Undisturbed && !f.Mix {
			t.Errorf("%s has plans but nothing to inject", f.Name)
		}
	}
}

func TestAFaultTakesTheFirstTopologyThatTheTestbedHas(t *testing.T) {
	all := []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}
	clusters := []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Cluster}
	tests := []struct {
		fault Fault
		of    locks.Topology
		have  []testbed.Topology
		want  testbed.Topology // "" = not supported
	}{
		{none, locks.Single, all, testbed.Single},
		{partition, locks.Independent, all, testbed.Independent},
		{failover, locks.Single, all, testbed.Replicated},
		{none, locks.Replicated, all, testbed.Replicated},
		{failover, locks.Replicated, all, testbed.Replicated},
		{failover, locks.Replicated, all[:1], ""},
		{failover, locks.Independent, all, ""},
		{failover, locks.Single, all[:1], ""},
		{chaos, locks.Single, all, testbed.Replicated},
		{chaos, locks.Single, all[:1], testbed.Single},
		{slotMigration, locks.Single, clusters, testbed.Cluster},
		{slotMigration, locks.Single, all, ""},
		{slotMigration, locks.Independent, clusters, ""},
	}
	for _, test := range tests {
		got, lack := Supported(test.fault, test.of, test.have, everything)
		if got != test.want || (lack != nil) != (test.want == "") {
			t.Errorf("%s on %s with %v = %q, %v; want %q", test.fault.Name, test.of, test.have, got, lack, test.want)
		}
	}
}

func encode(t *rapid.T, p Plan) []byte {
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
