package linear_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// inTurns returns n operations of clients that all wait for one lock and get it in turn.
func inTurns(n, clients int) (ops []operation) {
	place, fence := 0, int64(0)
	next := func() int { place++; return place - 1 }
	type waiter struct{ client, call int }
	var queue []waiter
	for c := range clients {
		queue = append(queue, waiter{c, next()})
	}
	for len(ops) < n {
		w := queue[0]
		fence++
		ops = append(ops, operation{Client: w.client, Fence: fence, Call: w.call, Reply: next()})
		ops = append(ops, operation{Client: w.client, Release: true, Call: next(), Reply: next()})
		queue = append(queue[1:], waiter{w.client, next()})
	}
	slices.SortFunc(ops, func(a, b operation) int { return a.Call - b.Call })
	return ops
}

// twoAtOnce removes one release near the end of a history of inTurns, so that two clients hold the lock
// at once.
func twoAtOnce(ops []operation) []operation {
	ops = slices.Clone(ops)
	for i := len(ops) - 1; i > 0; i-- {
		if ops[i].Release && !ops[i].Perhaps && i < len(ops)-200 {
			return slices.Delete(ops, i, i+1)
		}
	}
	return ops
}

// withUnknown returns a history of inTurns in which, for 1 % of the operations, the client never learns the
// outcome; or an operation of unknown outcome without effect comes before 1 % of them.
func withUnknown(n int, retried bool) (ops []operation) {
	for i, o := range inTurns(n, 8) {
		o.Call, o.Reply = 2*o.Call, 2*o.Reply
		if unknown := o; i%97 == 0 {
			unknown.Perhaps, unknown.Reply, unknown.Fence = true, -1, 0
			if ops = append(ops, unknown); !retried {
				continue
			}
			o.Call++
		}
		ops = append(ops, o)
	}
	return ops
}

func TestLongHistoriesAreDecided(t *testing.T) {
	const n = linear.MaxOperations + 2
	for _, model := range names {
		ops := inTurns(n, 8)
		legal := check(t.Context(), model, ops, 5*time.Minute)
		if legal.Answer != linear.Legal || !legal.Alone {
			t.Errorf("%s: got %+v, want Ok by the sweep alone", model, legal)
		}
		if model == "semaphore:2" || model == "read-write" {
			ops = append(ops, operation{Client: 100, Release: true, Mode: history.Read, Call: 4 * n, Reply: 4*n + 1})
		} else {
			ops = twoAtOnce(ops)
		}
		illegal := check(t.Context(), model, ops, 5*time.Minute)
		if illegal.Answer != linear.Illegal || illegal.Conflict == nil { // minimal only if the machine was quick enough
			t.Errorf("%s: got %+v %+v, want Illegal with a conflict", model, illegal, illegal.Conflict)
		}
	}
}

// Many states are possible at each point, but one suffices.
func TestLongHistoriesWithUnknownOutcomesAreDecided(t *testing.T) {
	for _, model := range names {
		for _, retried := range []bool{false, true} {
			if got := check(t.Context(), model, withUnknown(100_000, retried), 5*time.Minute); got.Answer != linear.Legal {
				t.Errorf("%s, retried %v: got %+v, want Ok", model, retried, got)
			}
		}
	}
}

// If too many clients outlive operations of unknown outcome, no window of a long history is illegal in every
// state, so that the search for the conflict must give up.
func TestTheSearchForAConflictEndsInTime(t *testing.T) {
	start := time.Now()
	got := check(t.Context(), "owner-aware-mutex", twoAtOnce(withUnknown(100_000, true)), 20*time.Second)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("got %+v after %s, want an answer in time", got, took)
	}
}

// wide returns a history in which each of many clients has a waiting acquire and a release of unknown
// outcome. Any of these clients may have held the lock for a moment, in any order.
func wide() (ops []operation) {
	for c := range 20 {
		ops = append(ops, operation{Client: c, Release: true, Call: c, Reply: -1, Perhaps: true})
	}
	for c := range 20 {
		ops = append(ops, operation{Client: c, Call: 20 + c, Reply: 100 + c})
	}
	return ops
}

func TestTooManyStatesAreUndecided(t *testing.T) {
	if got := check(t.Context(), "owner-aware-mutex", wide(), 10*time.Second); got.Answer != linear.Legal {
		t.Errorf("got %+v, want Ok: one order is legal", got)
	}
	ops := append(wide(), operation{Client: 20, Release: true, Call: 200, Reply: 201})
	for _, o := range inTurns(linear.MaxOperations, 8) { // too many for porcupine
		o.Client, o.Call, o.Reply = o.Client+100, o.Call+300, o.Reply+300
		ops = append(ops, o)
	}
	if got := check(t.Context(), "owner-aware-mutex", ops, time.Minute); got.Answer != linear.Undecided || got.Doubt != linear.TooWide {
		t.Errorf("got %+v, want Undecided, since too many states are possible", got)
	}
}

func TestASearchEndsWithItsContextOrLimit(t *testing.T) {
	ops := append(wide(), operation{Client: 20, Release: true, Call: 200, Reply: 201})
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, got := range map[string]linear.Result{
		"context": check(soon, "owner-aware-mutex", ops, time.Hour),
		"limit":   check(t.Context(), "owner-aware-mutex", ops, 50*time.Millisecond),
	} {
		if got.Answer != linear.Undecided || got.Doubt != linear.NoTime {
			t.Errorf("%s: got %+v, want Undecided for want of time", name, got)
		}
	}
}

func TestClientsOfSeveralProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		model string
		ops   []operation
		want  linear.Answer
	}{
		// c0 leaves first: c1 has to hold its permit until its second process releases.
		"the release that replies first comes last": {"semaphore:2", []operation{
			{Client: 0, Call: 0, Reply: 1},
			{Client: 1, Call: 2, Reply: 3},
			{Client: 0, Release: true, Call: 4, Reply: 15},
			{Client: 1, Release: true, Call: 5, Reply: 14},
			{Client: 2, Call: 6, Reply: 7},
			{Client: 1, Release: true, Call: 8, Reply: 9},
			{Client: 1, Call: 10, Reply: 11},
		}, linear.Legal},
		// c1's release succeeds, so c1's acquire took effect, with a fence of 1 or more. c0's section must
		// come before it.
		"a fence decides which section comes first": {"fenced-mutex", []operation{
			{Client: 0, Release: true, Call: 0, Reply: -1, Perhaps: true},
			{Client: 1, Call: 1, Reply: -1, Perhaps: true},
			{Client: 1, Release: true, Call: 6, Reply: 11},
			{Client: 0, Call: 9, Reply: 13, Fence: 1},
		}, linear.Legal},
		"no fence is left": {"fenced-mutex", []operation{
			{Client: 0, Release: true, Call: 0, Reply: -1, Perhaps: true},
			{Client: 1, Call: 1, Reply: -1, Perhaps: true},
			{Client: 1, Release: true, Call: 6, Reply: 11},
			{Client: 0, Call: 9, Reply: 13},
		}, linear.Illegal},
		// Since the second release succeeds, the owner acquired twice, first under the fence 1.
		"a known fence orders an acquire of unknown outcome": {"reentrant-fenced-mutex", []operation{
			{Client: 1, Fence: 1, Call: 0, Reply: -1, Perhaps: true},
			{Client: 1, Fence: 2, Call: 1, Reply: 2},
			{Client: 1, Release: true, Call: 3, Reply: 4},
			{Client: 1, Release: true, Call: 5, Reply: 6},
		}, linear.Legal},
	} {
		if got := check(t.Context(), c.model, c.ops, time.Minute); got.Answer != c.want || got.Alone {
			t.Errorf("%s: got %+v, want %s by both methods", name, got, c.want)
		}
	}
}

// BenchmarkCheck decides histories of n operations on every model. In the legal ones, eight clients take
// turns; in those with unknown outcomes, 1 % of the operations have no reply. The time for one history (ns/op)
// grows no faster than n log n.
func BenchmarkCheck(b *testing.B) {
	for _, model := range names {
		for _, n := range []int{100_000, 1_000_000} { // porcupine judges neither
			for what, ops := range map[string][]operation{"known": inTurns(n, 8), "unknown": withUnknown(n, false)} {
				b.Run(fmt.Sprintf("%s/%s/%d", model, what, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if got := check(b.Context(), model, ops, time.Minute); got.Answer != linear.Legal {
							b.Fatalf("got %+v", got)
						}
					}
				})
			}
		}
	}
}
