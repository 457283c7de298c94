package decision

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

const ms = time.Millisecond

// recorded returns the operations of a trial with a pause from 100 to 900 ms, and a crash at 1200
// ms. Client 0 begins critical sections at 10 and 950 ms, client 1 at 40 ms.
func recorded() []history.Op {
	window := func(at time.Duration, t history.Type, id int) history.Op {
		return history.Op{Time: at, Process: history.Nemesis, Client: history.NoClient, Type: t, Window: &history.Window{ID: id}}
	}
	op := func(at time.Duration, client int, f string, t history.Type) history.Op {
		return history.Op{Time: at, Client: client, F: f, Type: t}
	}
	return []history.Op{
		op(10*ms, 0, history.FAcquire, history.Invoke), op(20*ms, 0, history.FAcquire, history.OK),
		op(40*ms, 1, history.FAcquire, history.Invoke), window(100*ms, history.Invoke, 1),
		window(900*ms, history.Info, 1), op(920*ms, 0, history.FRelease, history.Invoke), op(925*ms, 0, history.FRelease, history.OK),
		op(950*ms, 0, history.FAcquire, history.Invoke), window(1200*ms, history.Invoke, 2), window(1200*ms, history.Info, 2),
	}
}

func spec() trial.Spec {
	s := trial.Spec{Workload: "mutex", Schedule: "hold-1of2", Size: 2, Plan: nemesis.Plan{
		{ID: 1, For: 200 * ms, Until: &nemesis.Trigger{}, Limit: 800 * ms, Linger: ms, By: 1500 * ms}, {ID: 2, After: 1, For: ms, By: 1500 * ms},
	}}
	s.Options = workloads.Options{Clients: 2, Keys: 1, TTL: time.Second, Hold: 100 * ms, Rest: 50 * ms, Retry: 50 * ms, Duration: 2 * time.Second, Seed: 7}
	return s
}

// giveUp returns action i of the plan of spec, with by as the latest start.
func giveUp(i int, by time.Duration) nemesis.Action {
	a := spec().Plan[i]
	a.By = by
	return a
}

func TestFaultsEndAtTheCut(t *testing.T) {
	for _, test := range []struct {
		at   time.Duration
		want nemesis.Plan
	}{
		{50 * ms, nemesis.Plan{giveUp(0, 40*ms-rounding), giveUp(1, 40*ms-rounding)}},
		{100 * ms, nemesis.Plan{{ID: 1, For: time.Microsecond, By: 1500 * ms}, giveUp(1, 90*ms-rounding)}},
		{400 * ms, nemesis.Plan{{ID: 1, For: 300 * ms, By: 1500 * ms}, giveUp(1, 390*ms-rounding)}},
		{900 * ms, nemesis.Plan{spec().Plan[0], giveUp(1, 890*ms-rounding)}},
		{1300 * ms, spec().Plan},
	} {
		if got := Cut(spec(), recorded(), test.at, 1).Plan; !reflect.DeepEqual(got, test.want) {
			t.Errorf("cut at %v: got %+v, want %+v", test.at, got, test.want)
		}
	}
}

func TestSectionsThatHadBegunStayAsTheyWere(t *testing.T) {
	s := spec()
	mutex, _ := workloads.ByName("mutex")
	for _, test := range []struct {
		at    time.Duration
		begun [2]int
	}{{5 * ms, [2]int{0, 0}}, {10 * ms, [2]int{1, 0}}, {500 * ms, [2]int{1, 1}}, {960 * ms, [2]int{2, 1}}} {
		for k := range 3 {
			got := Cut(s, recorded(), test.at, k)
			for client, sections := range got.Options.Script {
				if len(sections) < spareSections {
					t.Fatalf("client %d may run only %d sections", client, len(sections))
				}
				for n, section := range sections {
					kept := n < test.begun[client] || k == 0
					if same := section == mutex.Decide(s.Options, client, n); same != kept {
						t.Fatalf("cut at %v, continuation %d: section %d of c%d is as recorded: %v, want %v", test.at, k, n, client, same, kept)
					}
				}
			}
			if got.Seed != s.Seed || got.Options.Seed != s.Options.Seed || got.Schedule != "" || got.Size != 0 {
				t.Errorf("a continuation is %+v", got)
			}
		}
	}
	if reflect.DeepEqual(Cut(s, recorded(), 5*ms, 1), Cut(s, recorded(), 5*ms, 2)) {
		t.Error("two continuations are the same")
	}
}

func TestAScriptKeepsItsLength(t *testing.T) {
	s := spec()
	mutex, _ := workloads.ByName("mutex")
	s.Options.Script = [][]workloads.Section{{mutex.Decide(s.Options, 0, 5), mutex.Decide(s.Options, 0, 6), mutex.Decide(s.Options, 0, 7)}, {mutex.Decide(s.Options, 1, 5)}}
	if got := Cut(s, recorded(), 500*ms, 0).Options.Script; !reflect.DeepEqual(got, s.Options.Script) {
		t.Errorf("continuation 0 has the script %+v", got)
	}
	got := Cut(s, recorded(), 500*ms, 1).Options.Script
	if len(got) != 2 || len(got[0]) != 3 || len(got[1]) != 1 || got[0][0] != s.Options.Script[0][0] || got[0][1] == s.Options.Script[0][1] || got[1][0] != s.Options.Script[1][0] {
		t.Errorf("continuation 1 has the script %+v", got)
	}
}

func TestTheEdgeIsAfterTheLastInstantThatAverts(t *testing.T) {
	point := func(runs, violated int) Point { return Point{Runs: runs, Violated: violated} }
	for name, test := range map[string]struct {
		done             map[int]Point
		averted, certain int
	}{
		"a jump":                     {map[int]Point{0: point(4, 0), 8: point(4, 4), 12: point(4, 4)}, 0, 8},
		"down and up again":          {map[int]Point{0: point(4, 4), 3: point(4, 3), 8: point(4, 4)}, 3, 8},
		"certain from the start":     {map[int]Point{0: point(4, 4), 8: point(4, 4)}, -1, 0},
		"never":                      {map[int]Point{0: point(4, 0), 8: point(4, 3)}, 8, -1},
		"nothing between is certain": {map[int]Point{0: point(4, 0), 6: point(0, 0), 8: point(4, 4)}, 6, 8},
		"nothing is comparable":      {map[int]Point{0: point(0, 0)}, -1, -1},
	} {
		if averted, certain := edge(test.done); averted != test.averted || certain != test.certain {
			t.Errorf("%s: got %d and %d, want %d and %d", name, averted, certain, test.averted, test.certain)
		}
	}
}

func TestWhyNothingIsDecided(t *testing.T) {
	const unrepeated = "the trial did not repeat itself"
	for name, test := range map[string]struct {
		done map[int]Point
		want string
	}{
		"nothing is comparable":        {map[int]Point{0: {}, 8: {}}, unrepeated},
		"only the beginning repeats":   {map[int]Point{0: {Runs: 4}, 8: {}}, unrepeated},
		"the last one averts the flaw": {map[int]Point{0: {Runs: 4}, 4: {}, 8: {Runs: 4, Violated: 3}}, "at no instant was the flaw certain, not even at the last one"},
	} {
		if got := undecided(test.done); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestInstantsAreSpreadFromTheFirstToTheLast(t *testing.T) {
	if got := spread(3, 24); !reflect.DeepEqual(got, []int{0, 1, 2}) {
		t.Errorf("of three: %v", got)
	}
	if got := spread(101, 5); !reflect.DeepEqual(got, []int{0, 25, 50, 75, 100}) {
		t.Errorf("of a hundred: %v", got)
	}
}
