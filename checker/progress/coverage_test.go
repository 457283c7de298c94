package progress

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

func TestBehavioursOfOperations(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nobody does anything", "nemesis healed 5", nil},
		{"what is done twice is one behaviour", `
			c0 acquire 1-2 ok
			c0 release 3-4 ok
			c1 acquire 5-6 ok
			c1 release 7-8 info`,
			[]string{
				"acquire: free → free, before the fault, ok",
				"release: free → free, before the fault, ok",
				"release: free → free, before the fault, info",
			}},
		{"an operation that overlaps the fault is during it", `
			c0 acquire 1-9 fail
			nemesis window client-pause 10-20 hits=1
			c0 acquire 15-25 ok
			c0 release 26-27 ok
			c1 acquire 26-`,
			[]string{
				"acquire: free → free, before the fault, fail",
				"acquire: free → free, during the fault, ok",
				"acquire: free → free, after the fault, info",
				"release: free → free, after the fault, ok",
			}},
		{"a fault that hits nothing is no fault", `
			nemesis window client-pause 10-20
			c0 acquire 15-25 ok`,
			[]string{"acquire: free → free, before the fault, ok"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := history.Evidence{Ops: histories.Timeline(t, c.text)}
			var got []string
			for _, b := range Behaviours(evidence.New(e)) {
				got = append(got, b.String())
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEachBehaviourHasItsOwnWords(t *testing.T) {
	seen := map[string]Behaviour{}
	for code := range 1 << 16 {
		b := Behaviour(code)
		if before, twice := seen[b.String()]; twice {
			t.Fatalf("%d and %d are both %q", before, b, b)
		}
		seen[b.String()] = b
	}
	last := behaviour("other change", len(behaviourStates)-1, len(behaviourStates)-1, len(behaviourPhases)-1, string(history.Info))
	if want := "other change: own and others' → own and others', after the fault, info"; last.String() != want {
		t.Errorf("the last behaviour is %q, want %q", last, want)
	}
}

func TestTheStateOfALocksKeys(t *testing.T) {
	for want, grants := range map[string]string{ // the digits are the clients with a grant on n0, n1 and n2
		"free": "---", "some own": "0--", "own": "00-", "some others'": "1--", "others'": "-11",
		"some own and some others'": "0-1", "some own and others'": "011", "own and some others'": "001",
	} {
		c := &coverage{
			replay: &evidence.Replay{Index: &evidence.Index{}, Keys: &keyspace.Keys{}}, quorum: 2,
			held: map[evidence.ClientLock]map[keyspace.NodeKey]int{},
		}
		begin := func(node, client int, lock string) *keyspace.Grant {
			g := &keyspace.Grant{Node: fmt.Sprintf("n%d", node), Key: lock, Client: client, Lock: lock}
			c.note(turn{grant: g, by: 1})
			return g
		}
		for node, client := range grants {
			if client != '-' {
				begin(node, int(client-'0'), "L")
			}
			c.note(turn{grant: begin(node, 0, "L2"), by: -1}) // a grant of another lock, which ends
			begin(node, 1, "L3")
		}
		if got := behaviourStates[c.state(evidence.ClientLock{Client: 0, Lock: "L"})]; got != want {
			t.Errorf("grants %s: %s, want %s", grants, got, want)
		}
		if got := behaviourStates[c.state(evidence.ClientLock{Client: 0, Lock: "L2"})]; got != "free" {
			t.Errorf("grants %s: the other lock is %s, want free", grants, got)
		}
	}
}

func TestALossIsABehaviour(t *testing.T) {
	e := history.Evidence{Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		c0 lost 3`)}
	want := "lost: free → free, before the fault"
	for _, b := range Behaviours(evidence.New(e)) {
		if b.String() == want {
			return
		}
	}
	t.Errorf("%q was not seen", want)
}
