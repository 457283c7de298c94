package nemesis

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// watchedWorld returns a world whose primary is elected by Sentinels.
func watchedWorld() World {
	return World{
		Clients: 3, Nodes: []string{"n0"}, Topology: testbed.Sentinel, TTL: time.Second, Hold: 100 * time.Millisecond,
		Duration: 5 * time.Second,
	}
}

func TestWherePrimariesAreElectedEachLossHasAPlan(t *testing.T) {
	var got []Loss
	for _, p := range failover.Plans(watchedWorld(), rand.New(rand.NewPCG(1, 2))) {
		if len(p) != 1 {
			t.Fatalf("got %d actions, want one", len(p))
		}
		a := p[0]
		if a.Until == nil || a.length() < electing && a.Loss == Outvoted || len(a.Others) != 3 {
			t.Errorf("%s: got %+v, want one that lasts as long as an election and names the clients", a.Idea, a)
		}
		if !slices.Contains(got, a.Loss) {
			got = append(got, a.Loss)
		}
	}
	if want := []Loss{Outvoted, Killed, Frozen, CutOff}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestElectionsHaveNoNamedSchedules(t *testing.T) {
	for _, f := range []Fault{failover, splitBrain} {
		all, err := Named(f.Name, watchedWorld())
		if err != nil || len(all) != 0 {
			t.Errorf("%s: got %d schedules, %v, want none", f.Name, len(all), err)
		}
	}
}

func TestServersOfANodeAreAllOthers(t *testing.T) {
	var got []string
	for _, l := range serversOf("n1") {
		got = append(got, l.From+" "+l.To)
	}
	if want := []string{"n0 n1", "n2 n1", "s0 n1", "s1 n1", "s2 n1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
