package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// turn returns the entries of one critical section: the acquire is invoked at asked and completes
// at got, and the release is invoked at gone.
func turn(client int, asked, got, gone time.Duration) []history.Op {
	return []history.Op{
		entry(client, asked, history.Invoke, history.FAcquire), entry(client, got, history.OK, history.FAcquire),
		entry(client, gone, history.Invoke, history.FRelease), entry(client, gone+1*ms, history.OK, history.FRelease),
	}
}

// event returns an event of the nemesis, such as history.FCrash.
func event(at time.Duration, f string) history.Op {
	return history.Op{Process: history.Nemesis, Client: history.NoClient, Time: at, Type: history.Info, F: f}
}

func evidence(all ...[]history.Op) history.Evidence {
	entries := slices.Concat(all...)
	slices.SortStableFunc(entries, func(a, b history.Op) int { return int(a.Time - b.Time) })
	return history.Evidence{Ops: ops(entries...), Claims: history.Claims{Quorum: 1, TTL: 100 * ms, Recovery: 100 * ms}}
}

func TestContentionEndsWhereTheLivenessPhaseBegins(t *testing.T) {
	e := evidence(
		turn(0, 10*ms, 11*ms, 20*ms), turn(0, 30*ms, 41*ms, 50*ms), turn(0, 55*ms, 56*ms, 60*ms), turn(1, 12*ms, 22*ms, 39*ms),
		[]history.Op{event(110*ms, history.FHealed)},
		turn(0, 120*ms, 121*ms, 122*ms), turn(1, 130*ms, 131*ms, 132*ms),
	)
	for _, at := range []time.Duration{10, 12, 20, 22, 30, 50, 109, 120, 130} {
		e.Commands = append(e.Commands, exchange(-1, at*ms, at*ms+1*ms))
	}
	got := Contended(e)
	if want := []time.Duration{1 * ms, 1 * ms, 10 * ms, 11 * ms}; !slices.Equal(got.Waits, want) {
		t.Errorf("waits are %v, want %v", got.Waits, want)
	}
	if got.Grants != 4 || got.Commands != 7 || got.Lasted != 100*ms {
		t.Errorf("%d grants and %d commands in %v, want 4 and 7 in 100ms", got.Grants, got.Commands, got.Lasted)
	}
}

func TestFiguresOfKnownCosts(t *testing.T) {
	c := costs{
		acquires:  []Cost{{9, 9, 9 * ms}, {1, 1, 1 * ms}, {1, 1, 2 * ms}},
		contended: Contention{Waits: []time.Duration{1 * ms, 3 * ms}, Grants: 2, Commands: 14, Lasted: 500 * ms},
	}
	got := c.figures()
	for name, want := range map[string]float64{
		"acquireCommands": 1, "acquireRoundTrips": 1, "acquireP50": float64(2 * ms), "acquireP99": float64(9 * ms),
		"waitP50": float64(1 * ms), "waitP99": float64(3 * ms), "acquisitionsPerSecond": 4, "commandsPerAcquisition": 7,
	} {
		if v := got[name].Value; v == nil || *v != want {
			t.Errorf("%s is %+v, want %v", name, got[name], want)
		}
	}
	if f := got["releaseP50"]; f.Value != nil || f.Note != "not measured" {
		t.Errorf("without a release releaseP50 is %+v, want not measured", f)
	}
	for name, f := range (costs{}).figures() {
		if f.Value != nil || f.Note != "not measured" {
			t.Errorf("without evidence %s is %+v, want not measured", name, f)
		}
	}
}

func TestRatiosAreToTheBaseline(t *testing.T) {
	of := func(v float64) Figure { return Figure{Value: &v} }
	all := []Lock{
		{Lock: "base", Figures: map[string]Figure{"a": of(2), "b": of(0), "c": {Note: "not measured"}}},
		{Lock: "other", Figures: map[string]Figure{"a": of(5), "b": of(3), "c": of(1)}},
	}
	compare(all, "base")
	if r := all[1].Figures["a"].Ratio; r == nil || *r != 2.5 {
		t.Errorf("the ratio of 5 to 2 is %+v", all[1].Figures["a"])
	}
	for _, name := range []string{"b", "c"} {
		if all[1].Figures[name].Ratio != nil {
			t.Errorf("%s has a ratio to nothing: %v", name, *all[1].Figures[name].Ratio)
		}
	}
}
