package linear_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

func spansOf(t testing.TB, e history.Evidence) (map[string][]linear.Span, []history.Pair) {
	t.Helper()
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		t.Fatal(err)
	}
	return linear.Spans(e, pairs), pairs
}

// naive gives every operation the full interval that believed.go defines: an acquire may take effect from its
// invocation to its ok, and a release at any time after the end of its span.
func naive(all []linear.Span) (ops []operation) {
	type entry struct {
		at   time.Duration
		kind int // calls first, releases before replies
		span int
	}
	var entries []entry
	for i, s := range all {
		entries = append(entries, entry{s.Invoke, 0, i}, entry{s.OK, 2, i})
		if s.End != linear.Forever {
			entries = append(entries, entry{s.End, 1, i})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), a.kind-b.kind) })
	calls := map[int]int{}
	for place, e := range entries {
		mode := cmp.Or(all[e.span].Mode, history.Write) // a release without a mode would have that of the last acquire
		op := operation{Client: all[e.span].Owner, Mode: mode, Call: place, Reply: -1, Release: true, Perhaps: true}
		switch e.kind {
		case 0:
			calls[e.span] = place
			continue
		case 2:
			op.Call, op.Reply, op.Release, op.Perhaps = calls[e.span], place, false, false
		}
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b operation) int { return a.Call - b.Call })
	return ops
}

// By definition, a span's release stays open to infinity (see believed.go). The canonical order must give the
// same answer.
func TestSpansExcludeEachOtherIfTheyAreLinearizable(t *testing.T) {
	seen := map[linear.Answer]int{}
	for seed := range uint64(3000) {
		e := histories.Random(seed)
		if e.Claims.Permits > 0 {
			continue // linear.Check counts a permit for every acquire
		}
		model := "reentrant-mutex"
		if e.Claims.ReadWrite {
			model = "read-write"
		}
		byLock, _ := spansOf(t, e)
		for lock, got := range linear.CheckSpans(t.Context(), e.Claims, byLock) {
			want := check(t.Context(), model, naive(byLock[lock]), time.Minute)
			if got != want.Answer {
				t.Fatalf("seed %d, %s: got %s, want %+v", seed, lock, got, want)
			}
			seen[got]++
		}
	}
	if seen[linear.Legal] < 500 || seen[linear.Illegal] < 100 {
		t.Errorf("too one-sided: %v", seen)
	}
}

// A long busy time is judged in parts. Only the first and the last span overlap.
func TestALongBusyTimeIsJudgedInParts(t *testing.T) {
	for mode, want := range map[history.Mode]linear.Answer{history.Write: linear.Illegal, history.Read: linear.Legal} {
		var all []linear.Span
		for i := range time.Duration(1500) {
			all = append(all, linear.Span{Owner: int(i), Mode: history.Read, Invoke: i, OK: i, End: i + 1})
		}
		all[0].End = linear.Forever
		all[len(all)-1].Mode = mode
		got := linear.CheckSpans(t.Context(), history.Claims{ReadWrite: true}, map[string][]linear.Span{"L": all})["L"]
		if got != want {
			t.Errorf("%s: got %s, want %s", mode, got, want)
		}
	}
}

// Grants shrink to instants. Their full intervals must give the same answer, with each hold released at any time.
func TestFencesAreInOrderIfTheyAreLinearizable(t *testing.T) {
	seen := map[linear.Answer]int{}
	for seed := range uint64(6000) {
		e := histories.Random(seed)
		if !e.Claims.Fenced {
			continue
		}
		_, pairs := spansOf(t, e)
		grants, ops := map[string][]linear.Grant{}, map[string][]operation{}
		for _, p := range pairs {
			if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis || p.Done() != history.OK {
				continue
			}
			g := linear.Grant{Owner: p.Invoke.Client, Fence: p.Lease().Fence, Call: p.Invoke.Index, Return: p.Complete.Index}
			grants[p.Invoke.Lock] = append(grants[p.Invoke.Lock], g)
			ops[p.Invoke.Lock] = append(ops[p.Invoke.Lock],
				operation{Client: g.Owner, Fence: g.Fence, Call: 2 * g.Call, Reply: 2 * g.Return},
				operation{Client: g.Owner, Release: true, Call: 2*g.Call + 1, Reply: -1, Perhaps: true})
		}
		model := linear.ModelOf(history.Claims{Fenced: true, Reentrant: e.Claims.Reentrant}).Name
		for lock, got := range linear.CheckFences(t.Context(), e.Claims.Reentrant, grants, nil) {
			slices.SortFunc(ops[lock], func(a, b operation) int { return a.Call - b.Call })
			if want := check(t.Context(), model, ops[lock], time.Minute); got != want.Answer {
				t.Fatalf("seed %d, %s: got %s, want %+v", seed, lock, got, want)
			}
			seen[got]++
		}
	}
	if seen[linear.Legal] < 500 || seen[linear.Illegal] < 100 {
		t.Errorf("too one-sided: %v", seen)
	}
}

func TestTheResourceAcceptsNoOlderFence(t *testing.T) {
	grants := map[string][]linear.Grant{"L": {{Fence: 1, Call: 1, Return: 2}}, "M": {{Fence: 1, Call: 1, Return: 2}, {Owner: 1, Fence: 1, Call: 3, Return: 4}}}
	for _, c := range []struct {
		lock   string
		fences []int64
		want   linear.Answer
	}{
		{"L", []int64{1, 1, 3}, linear.Legal}, {"L", []int64{3, 1}, linear.Illegal}, {"L", []int64{-1}, linear.Illegal},
		{"other", []int64{0, 2}, linear.Legal}, {"M", []int64{1}, linear.Illegal},
	} {
		accepted := map[string][]linear.Acceptance{}
		for _, f := range c.fences {
			accepted[c.lock] = append(accepted[c.lock], linear.Acceptance{Fence: f})
		}
		if got := linear.CheckFences(t.Context(), false, grants, accepted)[c.lock]; got != c.want {
			t.Errorf("%s, %v: got %s, want %s", c.lock, c.fences, got, c.want)
		}
	}
}

func TestACancelledCheckDecidesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spans := map[string][]linear.Span{"L": {{OK: 1, End: 3}, {Owner: 1, OK: 2, End: 4}}}
	if got := linear.CheckSpans(ctx, history.Claims{}, spans)["L"]; got != linear.Undecided {
		t.Errorf("got %s, want Unknown", got)
	}
}
