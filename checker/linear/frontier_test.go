package linear

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// TestFrontierPorcupineAndEveryOrderAgree covers clients that run several processes, and
// histories with many unknown outcomes. The frontier must decide all these histories.
func TestFrontierPorcupineAndEveryOrderAgree(t *testing.T) {
	for _, model := range names {
		t.Run(model, func(t *testing.T) {
			seen := map[string]int{}
			rapid.Check(t, func(d *rapid.T) {
				for range perCheck {
					frontierAgrees(d, model, seen)
				}
			})
			for _, what := range []string{"Illegal", "Ok", "perhaps Illegal", "perhaps Ok", "shared Illegal", "shared Ok"} {
				if seen[what] < least() {
					t.Errorf("only %d histories are %q: %v", seen[what], what, seen)
				}
			}
		})
	}
}

func frontierAgrees(d *rapid.T, model string, seen map[string]int) {
	m, _ := ModelNamed(model)
	r := m.answered()
	ops := operationsOf(d, recorded(d, model))
	shared := rapid.Bool().Draw(d, "shared")
	for i := range ops {
		if shared {
			ops[i].Client %= 2
		}
		if rapid.IntRange(0, 9).Draw(d, "perhaps") == 0 {
			ops[i].Perhaps, ops[i].Reply = true, -1
			if rapid.Bool().Draw(d, "fence unknown") {
				ops[i].Fence = 0
			}
		}
	}
	all := r.read(ops)
	perhaps := slices.ContainsFunc(all, func(op recording) bool { return op.perhaps })
	s := search{ctx: context.Background(), spec: r, first: []held{{}}, end: time.Now().Add(time.Minute)}
	got, _ := s.askFrontier(all)
	second := s.decide(all)
	want := Illegal
	if somehow(model, anyLock{}, all) {
		want = Legal
	}
	if got != want || second != want {
		d.Fatalf("%s: every order says %s, the frontier %s, porcupine %s\n%+v", model, want, got, second, ops)
	}
	if got == Illegal {
		last := s.firstIllegal(all).reply
		if !somehow(model, anyLock{}, s.until(all, last-1)) || somehow(model, anyLock{}, s.until(all, last)) {
			d.Fatalf("%s: the reply at %d is not the first that makes the history illegal\n%+v", model, last, ops)
		}
	}
	seen[string(want)]++
	if perhaps {
		seen["perhaps "+string(want)]++
	}
	if shared {
		seen["shared "+string(want)]++
	}
}

// inTurns returns n operations of clients that all wait for one lock and get it in turn.
func inTurns(n, clients int) (ops []Operation) {
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
		ops = append(ops, Operation{Client: w.client, Fence: fence, Call: w.call, Reply: next()})
		ops = append(ops, Operation{Client: w.client, Release: true, Call: next(), Reply: next()})
		queue = append(queue[1:], waiter{w.client, next()})
	}
	slices.SortFunc(ops, func(a, b Operation) int { return a.Call - b.Call })
	return ops
}

// twoAtOnce removes one release near the end of a history of inTurns, so that two clients hold the lock
// at once.
func twoAtOnce(ops []Operation) []Operation {
	ops = slices.Clone(ops)
	for i := len(ops) - 1; i > 0; i-- {
		if ops[i].Release && i < len(ops)-200 {
			return slices.Delete(ops, i, i+1)
		}
	}
	return ops
}

func TestLongHistoriesAreDecided(t *testing.T) {
	const n = 20_002
	for _, model := range names {
		m, _ := ModelNamed(model)
		ops := inTurns(n, 8)
		legal := Check(t.Context(), m, map[string][]Operation{"L": ops}, 5*time.Minute)[0]
		if legal.Answer != Legal || !legal.Alone {
			t.Errorf("%s: got %+v, want Ok by the frontier alone", model, legal)
		}
		if model == "semaphore:2" || model == "read-write" {
			ops = append(ops, Operation{Client: 100, Release: true, Mode: history.Read, Call: 4 * n, Reply: 4*n + 1})
		} else {
			ops = twoAtOnce(ops)
		}
		illegal := Check(t.Context(), m, map[string][]Operation{"L": ops}, 5*time.Minute)[0]
		if illegal.Answer != Illegal || illegal.Conflict == nil { // minimal only if the machine was quick enough
			t.Errorf("%s: got %+v %+v, want Illegal with a conflict", model, illegal, illegal.Conflict)
		}
	}
}

// In 1 % of the operations of a long history, the client never learns the outcome; or an operation of
// unknown outcome without effect comes before 1 % of them. Many situations are possible at each point,
// but one suffices.
func TestLongHistoriesWithUnknownOutcomesAreDecided(t *testing.T) {
	for _, model := range names {
		m, _ := ModelNamed(model)
		for _, retried := range []bool{false, true} {
			var ops []Operation
			for i, o := range inTurns(100_000, 8) {
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
			if got := Check(t.Context(), m, map[string][]Operation{"L": ops}, 5*time.Minute)[0]; got.Answer != Legal {
				t.Errorf("%s, retried %v: got %+v, want Ok", model, retried, got)
			}
		}
	}
}

// c1's release succeeds, so c1's acquire took effect, with a fence of 1 or more. c0's acquire got
// the given fence. If that fence is 1, c0's section must come before c1's acquire; if it is 0, no
// order is legal.
func TestFencesDecideWhichSectionComesFirst(t *testing.T) {
	m, _ := ModelNamed("fenced-mutex")
	r := m.answered()
	s := search{ctx: t.Context(), spec: r, first: []held{{}}, end: time.Now().Add(time.Minute)}
	for fence, want := range map[int64]Answer{1: Legal, 0: Illegal} {
		all := r.read([]Operation{
			{Client: 0, Release: true, Call: 0, Reply: -1, Perhaps: true},
			{Client: 1, Call: 1, Reply: -1, Perhaps: true},
			{Client: 1, Release: true, Call: 6, Reply: 11},
			{Client: 0, Call: 9, Reply: 13, Fence: fence},
		})
		if got, _ := s.askFrontier(all); got != want || s.decide(all) != want {
			t.Errorf("fence %d: the frontier says %s, porcupine %s, want %s", fence, got, s.decide(all), want)
		}
	}
}

// An acquire of unknown outcome may have a known fence, here 1. Since the second release succeeds, the
// owner acquired twice, first under that fence.
func TestAKnownFenceOrdersAnAcquireOfUnknownOutcome(t *testing.T) {
	m, _ := ModelNamed("reentrant-fenced-mutex")
	ops := []Operation{
		{Client: 1, Fence: 1, Call: 0, Reply: -1, Perhaps: true},
		{Client: 1, Fence: 2, Call: 1, Reply: 2},
		{Client: 1, Release: true, Call: 3, Reply: 4},
		{Client: 1, Release: true, Call: 5, Reply: 6},
	}
	if got := Check(t.Context(), m, map[string][]Operation{"L": ops}, time.Minute)[0]; got.Answer != Legal || got.Alone {
		t.Errorf("got %+v, want Ok by both methods", got)
	}
}

// In a wide history, one reply can lead to more situations than the limit allows. The
// search therefore checks its time limit also within a reply.
func TestAWideHistoryEndsWithItsContext(t *testing.T) {
	m, _ := ModelNamed("owner-aware-mutex")
	r := m.answered()
	var ops []Operation
	for c := range 20 {
		ops = append(ops, Operation{Client: c, Release: true, Call: c, Reply: -1, Perhaps: true})
	}
	for c := range 20 {
		ops = append(ops, Operation{Client: c, Call: 20 + c, Reply: 100 + c})
	}
	ctx, cancel := context.WithCancel(t.Context())
	all := r.read(ops)
	f := frontier{spec: r, all: all, now: []situation{{}}, owners: map[int]available{}, mixed: map[int]bool{}, stop: stopper(ctx, time.Now().Add(time.Minute))}
	for i := range all {
		f.invoke(i)
	}
	cancel()
	f.reply(20)
	if !f.stopped || f.full {
		t.Errorf("stopped %v, full %v: want the context to end the search before the situations are too many", f.stopped, f.full)
	}
}

func TestTooManySituationsAreUndecided(t *testing.T) {
	m, _ := ModelNamed("owner-aware-mutex")
	r := m.answered()
	var all []Operation
	// Each of many clients has a waiting acquire and a release of unknown outcome. Any of
	// these clients may have held the lock for a moment, in any order.
	for c := range 20 {
		all = append(all, Operation{Client: c, Release: true, Call: c, Reply: -1, Perhaps: true})
	}
	for c := range 20 {
		all = append(all, Operation{Client: c, Call: 20 + c, Reply: 100 + c})
	}
	s := search{ctx: t.Context(), spec: r, first: []held{{}}, end: time.Now().Add(time.Minute)}
	if got, _ := s.askFrontier(r.read(all)); got != Legal {
		t.Errorf("got %s, want Ok: one order is legal", got)
	}
	all = append(all, Operation{Client: 20, Release: true, Call: 200, Reply: 201})
	if got, _ := s.askFrontier(r.read(all)); got != Undecided {
		t.Errorf("got %s, want Undecided", got)
	}
}

// BenchmarkCheck has the frontier decide histories of n operations on every model. In the legal ones,
// eight clients take turns; in the illegal ones, two hold the lock at once near the end. The time for
// one history (ns/op) grows no faster than n log n.
func BenchmarkCheck(b *testing.B) {
	for _, model := range names {
		m, _ := ModelNamed(model)
		for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
			ops := inTurns(n, 8)
			for what, all := range map[string][]Operation{"legal": ops, "illegal": twoAtOnce(ops)} {
				b.Run(fmt.Sprintf("%s/%s/%d", model, what, n), func(b *testing.B) {
					b.ReportAllocs()
					r := m.answered()
					for b.Loop() {
						s := search{ctx: b.Context(), spec: r, first: []held{{}}, end: time.Now().Add(time.Minute)}
						if got, _ := s.askFrontier(r.read(all)); got == Undecided {
							b.Fatal("undecided")
						}
					}
				})
			}
		}
	}
}
