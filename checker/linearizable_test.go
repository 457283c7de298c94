package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// raw lists the models that the tests here use.
var raw = []string{"mutex", "owner-aware-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex", "read-write", "semaphore:2"}

func TestOperationsAreJudgedAsTheyWereAnswered(t *testing.T) {
	tests := map[string]struct {
		text     string
		violated string // for each model of raw: v if violated, h if it holds
		ops      []int  // the conflict under owner-aware-mutex
	}{
		"in turn":                               {"c0 acquire 1-2 ok fence=1\nc0 release 3-4 ok\nc1 acquire 5-6 ok fence=2\nc1 release 7-8 ok", "hhhhhhh", nil},
		"a release that failed leaves it held":  {"c0 acquire 1-2 ok fence=1\nc0 release 3-4 fail\nc1 acquire 5-6 ok fence=2", "vvvvvvh", []int{0, 1, 2, 3, 4, 5}},
		"a release of unknown outcome frees it": {"c0 acquire 1-2 ok fence=1\nc0 release 3-4 info\nc1 acquire 5-6 ok fence=2", "hhhhhhh", nil},
		"a release that never returned, once": {
			"c0 acquire 1-2 ok fence=1\nc0 release 3-\nc1 acquire 5-6 ok fence=2\nc2 acquire 7-8 ok fence=3", "vvvvvvh", []int{3, 4, 5, 6}},
		"an acquire of unknown outcome, released": {"c0 acquire 1-2 info\nc0 release 3-4 ok\nc1 acquire 5-6 ok fence=2", "hhhhhhh", nil},
		"it may take effect late":                 {"c1 acquire 1-2 info\nc0 acquire 3-4 ok fence=1\nc0 release 5-6 ok\nc1 release 7-8 ok", "hhhhhhh", nil},
		"but once":                                {"c1 acquire 1-2 info\nc1 release 3-4 ok\nc1 release 5-6 ok", "vvvvvvv", []int{2, 3, 4, 5}},
		"somebody else's release":                 {"c0 acquire 1-2 ok fence=1\nc1 release 3-4 ok\nc2 acquire 5-6 ok fence=2", "hvvvvvv", []int{2, 3}},
		"the same client twice":                   {"c0 acquire 1-2 ok fence=1\nc0 acquire 3-4 ok fence=2", "vvhvhhh", []int{0, 1, 2, 3}},
		"one release for two":                     {"c0 acquire 1-2 ok fence=1\nc0 acquire 3-4 ok fence=1\nc0 release 5-6 ok\nc1 acquire 7-8 ok fence=2", "vvvvvvh", []int{0, 1, 2, 3}},
		"a release of what is free":               {"c0 release 1-2 ok", "vvvvvvv", []int{0, 1}},
		"a fence that came back":                  {"c0 acquire 1-2 ok fence=5\nc0 release 3-4 ok\nc1 acquire 5-6 ok fence=4", "hhhvvhh", nil},
		"its own fence again, once free":          {"c0 acquire 1-2 ok fence=5\nc0 release 3-4 ok\nc0 acquire 5-6 ok fence=5", "hhhvvhh", nil},
		"its own fence again, perhaps not free": {
			"c0 acquire 1-2 ok fence=5\nc0 acquire 3-4 info\nc0 release 5-6 ok\nc0 acquire 7-8 ok fence=5", "hhhvhhh", nil},
		"readers together, a writer beside": {
			"c0 acquire 1-2 ok fence=1 mode=read\nc1 acquire 3-4 ok fence=2 mode=read\nc2 acquire 5-6 ok fence=3 mode=write", "vvvvvvv", []int{0, 1, 2, 3}},
		"concurrent with the release":        {"c0 acquire 1-2 ok fence=1\nc0 release 3-9 ok\nc1 acquire 4-5 ok fence=2", "hhhhhhh", nil},
		"an unknown acquire of another mode": {"c0 acquire 1-2 info mode=read\nc0 release 3-4 ok mode=write", "hhhhhvh", nil},
		"a release without a mode": {
			"c0 acquire 1-2 ok fence=1 mode=read\nc0 release 3-4 ok\nc1 acquire 5-6 ok fence=2 mode=write", "hhhhhhh", nil},
		"a lease's end is nobody's release": {"c0 acquire 1-2 ok fence=1 deadline=3\nnemesis crash c0 4\nc1 acquire 5-6 ok fence=2", "vvvvvvh", []int{0, 1, 3, 4}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for i, model := range raw {
				want := map[byte]Result{'v': Violated, 'h': Held}[tt.violated[i]]
				v := Linearizable(context.Background(), model, history.Evidence{Ops: histories.Timeline(t, tt.text)})
				if v.Oracle != "linearizable" || v.Result != want || (len(v.Findings) > 0) != (want == Violated) {
					t.Errorf("%s: got %+v, want %s", model, v, want)
				}
				if model == "owner-aware-mutex" && want == Violated && !slices.Equal(v.Findings[0].Ops, tt.ops) {
					t.Errorf("%s: the conflict is entries %v, want %v: %s", model, v.Findings[0].Ops, tt.ops, plain.Summary(v.Findings[0]))
				}
			}
		})
	}
}

func TestNothingIsSaidToBeLinearizableThatWasNotDecided(t *testing.T) {
	ok := history.Evidence{Ops: histories.Timeline(t, "c0 acquire 1-2 ok")}
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if v := linearizable(context.Background(), "mutex", NewCase(ok), -time.Second); v.Result != Unknown || !strings.Contains(v.words(), "in time for L") {
		t.Errorf("without time: got %+v", v)
	}
	if v := Linearizable(late, "mutex", ok); v.Result != Unknown {
		t.Errorf("after the end: got %+v", v)
	}
	many := history.Evidence{Ops: histories.Timeline(t, strings.Repeat("c0 acquire 1-1 ok\n", linear.MaxOperations+1))}
	if v := Linearizable(context.Background(), "mutex", many); v.Result != Violated || !strings.Contains(v.Why, "the sweep alone judged the 20001 operations") {
		t.Errorf("too many for porcupine: got %s: %s", v.Result, v.Why)
	}
	for text, want := range map[string]Result{"": NotApplicable, "c0 acquire 1-2 fail\nc1 acquire 3-4 info": NotApplicable} {
		if v := Linearizable(context.Background(), "mutex", history.Evidence{Ops: histories.Timeline(t, text)}); v.Result != want {
			t.Errorf("%q: got %+v", text, v)
		}
	}
	if v := Linearizable(context.Background(), "rw", ok); v.Result != NotApplicable {
		t.Errorf("no model: got %+v", v)
	}
}

// tired is a context whose Err returns nil for the first left.Load() calls, and context.Canceled from
// then on.
type tired struct {
	context.Context
	left *atomic.Int64
}

// Err implements context.Context.
func (t tired) Err() error {
	if t.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestACancelledSearchSaysNothing(t *testing.T) {
	f := NewCase(history.Evidence{Ops: histories.Timeline(t, strings.Repeat("c0 acquire 1-1 ok\nc0 release 1-1 ok\n", 100))})
	for questions, want := range map[int64]Result{1 << 40: Held, 50: Unknown} {
		ctx := tired{context.Background(), new(atomic.Int64)}
		ctx.left.Store(questions)
		if v := linearizable(ctx, "owner-aware-mutex", f, time.Hour); v.Result != want {
			t.Errorf("cancelled after %d questions: got %+v, want %s", questions, v, want)
		}
	}
}

// The search must not become exponential, even if operations never end or wait for long.
func TestOperationsOfUnknownOutcomeAreDecidedInTime(t *testing.T) {
	var unknown, waiting strings.Builder
	for i := range 60 {
		fmt.Fprintf(&unknown, "c%d acquire %d-%d info mode=read\nc%d release %d-%d info mode=read\n", i, 10*i, 10*i+1, i, 10*i+2, 10*i+3)
		fmt.Fprintf(&unknown, "c%d acquire %d-%d ok fence=%d\nc%d release %d-%d ok\n", 1000+i%5, 10*i+4, 10*i+5, i+1, 1000+i%5, 10*i+6, 10*i+7)
		fmt.Fprintf(&waiting, "c%d acquire 1-%d ok fence=%d\nc%d release %d-%d ok\n", i, 10*i+13, i+1, i, 10*i+19, 10*i+20)
	}
	for name, text := range map[string]string{"unknown": unknown.String(), "waiting": waiting.String()} {
		for _, model := range raw {
			legal := Linearizable(context.Background(), model, history.Evidence{Ops: histories.Timeline(t, text)})
			if legal.Result != Held {
				t.Errorf("%s, %s: got %s: %s", name, model, legal.Result, legal.Why)
			}
			if name == "waiting" && (model == "mutex" || model == "semaphore:2") {
				continue // these models cannot rule out a waiting acquire, so that the search tries every subset
			}
			illegal := Linearizable(context.Background(), model, history.Evidence{Ops: histories.Timeline(t, text+"c2000 release 9000-9001 ok")})
			if illegal.Result != Violated && (name != "unknown" || model != "mutex") { // an unknown acquire makes the release legal
				t.Errorf("%s, %s: got %s: %s", name, model, illegal.Result, illegal.Why)
			}
		}
	}
}
