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

// window returns the entry with which a fault's window opens (typ is Invoke) or closes (typ is
// Info).
func window(at time.Duration, typ history.Type, w history.Window) history.Op {
	op := event(at, w.Fault)
	op.Type, op.Window = typ, &w
	return op
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
	if want := 16.0 / (2 * 10); got.Jain != want { // three grants and one: (3+1)² / (2·(9+1))
		t.Errorf("fairness is %v, want %v", got.Jain, want)
	}
}

func TestHeldCountsWhatTheLockSendsInTheBackground(t *testing.T) {
	e := evidence(turn(0, 10*ms, 20*ms, 520*ms), turn(0, 600*ms, 601*ms, 900*ms))
	other, ping := exchange(-1, 300*ms, 301*ms), exchange(-1, 310*ms, 311*ms)
	other.Client, ping.N = 1, 0
	e.Commands = []history.Command{
		exchange(0, 10*ms, 20*ms), exchange(-1, 120*ms, 121*ms), exchange(-1, 220*ms, 221*ms), other, ping,
		exchange(2, 520*ms, 521*ms), exchange(-1, 700*ms, 701*ms),
	}
	if got, err := Held(e); err != nil || got != (Keeping{Commands: 2, Held: 500 * ms}) {
		t.Errorf("%+v, %v; want 2 commands in 500ms", got, err)
	}
	if got, err := Held(evidence(turn(0, 10*ms, 20*ms, 520*ms)[:2])); err != nil || got.Commands != 0 || got.Held != 0 {
		t.Errorf("held to the end of the history: %+v, %v", got, err)
	}
	if got, err := Held(history.Evidence{}); err != nil || got != (Keeping{}) {
		t.Errorf("nothing happened: %+v, %v", got, err)
	}
}

func TestRecoveryRunsFromTheFaultToTheNextGrant(t *testing.T) {
	crash := func(at time.Duration) []history.Op {
		w := history.Window{Fault: "client-crash", ID: 1, Effect: history.Crashed, Clients: []int{0}}
		struck := w
		struck.Hits = 1
		dies := event(at, history.FCrash)
		dies.Client = 0
		return []history.Op{window(at, history.Invoke, w), dies, window(at+1*ms, history.Info, struck)}
	}
	freeze := func(at, until time.Duration, hits int) []history.Op {
		w := history.Window{Fault: "node-pause", ID: 1, Effect: history.Paused, Nodes: []string{"n0"}}
		back := w
		back.Hits = hits
		return []history.Op{window(at, history.Invoke, w), window(until, history.Info, back)}
	}
	holder := turn(0, 10*ms, 11*ms, 900*ms)[:2]
	inVain := []history.Op{entry(1, 12*ms, history.Invoke, history.FAcquire), entry(1, 500*ms, history.Fail, history.FAcquire)}
	tests := []struct {
		name string
		e    history.Evidence
		want Recovery
	}{
		{"the holder crashes", evidence(holder, crash(20*ms), turn(1, 12*ms, 120*ms, 130*ms)), Recovery{Struck: true, After: 100 * ms, Since: 100 * ms}},
		{"the holder crashes, and nobody gets in", evidence(holder, crash(20*ms), inVain), Recovery{Struck: true, Never: true}},
		{"the node freezes and comes back", evidence(turn(0, 10*ms, 11*ms, 30*ms), freeze(20*ms, 170*ms, 3), turn(1, 32*ms, 190*ms, 200*ms)), Recovery{Struck: true, After: 20 * ms, Since: 170 * ms}},
		{"others get in while one node is frozen", evidence(turn(0, 10*ms, 11*ms, 30*ms), freeze(20*ms, 170*ms, 3), turn(1, 32*ms, 40*ms, 60*ms), turn(1, 160*ms, 175*ms, 180*ms)), Recovery{Struck: true, After: 5 * ms, Since: 20 * ms}},
		{"the fault hits nothing", evidence(turn(0, 10*ms, 11*ms, 30*ms), freeze(20*ms, 170*ms, 0)), Recovery{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Recovered(test.e); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestFiguresOfKnownCosts(t *testing.T) {
	c := costs{
		acquires:  []Cost{{9, 9, 9 * ms}, {1, 1, 1 * ms}, {1, 1, 2 * ms}},
		contended: Contention{Waits: []time.Duration{1 * ms, 3 * ms}, Grants: 2, Commands: 14, Lasted: 500 * ms, Jain: 0.5},
		keeping:   Keeping{Commands: 15, Held: 5 * time.Second},
		crashes:   []Recovery{{Struck: true, Never: true}, {Struck: true, After: 2 * ms}, {}, {Struck: true, After: 1 * ms}},
		freezes:   []Recovery{{Struck: true, Never: true}},
	}
	got := c.figures()
	for name, want := range map[string]float64{
		"acquireCommands": 1, "acquireRoundTrips": 1, "acquireP50": float64(2 * ms), "acquireP99": float64(9 * ms),
		"waitP50": float64(1 * ms), "waitP99": float64(3 * ms), "acquisitionsPerSecond": 4, "commandsPerAcquisition": 7, "fairness": 0.5,
		"crashRecovery": float64(1 * ms), "renewalsPerSecond": 3,
	} {
		if v := got[name].Value; v == nil || *v != want {
			t.Errorf("%s is %+v, want %v", name, got[name], want)
		}
	}
	for name, want := range map[string]string{"crashRecovery": "never in 1 of 3", "freezeOutage": "never", "freezeRecovery": "never", "releaseP50": "not measured"} {
		if f := got[name]; f.Note != want {
			t.Errorf("%s has the note %q, want %q", name, f.Note, want)
		}
	}
	if got["freezeOutage"].Value != nil || got["releaseP50"].Value != nil {
		t.Errorf("nothing was measured, and yet: %+v, %+v", got["freezeOutage"], got["releaseP50"])
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
		{Lock: "base", Figures: map[string]Figure{"a": of(2), "b": of(0), "c": {Note: "never"}}},
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
