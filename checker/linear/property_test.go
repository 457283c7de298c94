package linear

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// By definition, a span's release stays open to infinity (see believed.go). Shorter intervals that
// contain the canonical points must give the same answer, and so must the intervals and chunks that the
// checker uses.
func TestShorterIntervalsAndCutsChangeNoAnswer(t *testing.T) {
	for seed := range uint64(1500) {
		e := histories.Random(seed)
		byLock := spansOf(t, e)
		for _, lock := range slices.Sorted(maps.Keys(byLock)) {
			all := byLock[lock]
			if len(all) > 9 {
				continue // the naive search would not end
			}
			model := ModelOf(unfenced(e.Claims))
			m := model.believed(e.Claims.Permits).model()
			if !model.spec.again {
				all = Merge(all)
			}
			want := porcupine.CheckOperationsTimeout(m, naive(all), 5*time.Second)
			points := operations(all)
			for i := range points {
				points[i].Call, points[i].Return = int64(i), int64(i)
			}
			for at := 1; at < len(all); at++ {
				carried := porcupine.Ok
				rest := append(carry(all[:at], all[at].OK), all[at:]...)
				for _, part := range [][]Span{all[:at], rest} {
					if porcupine.CheckOperationsTimeout(m, operations(part), 5*time.Second) == porcupine.Illegal {
						carried = porcupine.Illegal
					}
				}
				if carried != want {
					t.Fatalf("seed %d, %s, cut before span %d: got %s, want %s", seed, lock, at, carried, want)
				}
			}
			for name, ops := range map[string][]porcupine.Operation{"as used": operations(all), "spread": spread(all), "points": points} {
				if got := porcupine.CheckOperationsTimeout(m, ops, 5*time.Second); got != want {
					t.Fatalf("seed %d, %s, %s: got %s, want %s", seed, lock, name, got, want)
				}
			}
		}
	}
}

func pairsOf(t testing.TB, e history.Evidence) []history.Pair {
	t.Helper()
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func spansOf(t testing.TB, e history.Evidence) map[string][]Span {
	t.Helper()
	return Spans(e, pairsOf(t, e))
}

// grantsOf returns the successful acquires by lock, with the indices of their entries as bounds.
func grantsOf(t testing.TB, e history.Evidence) map[string][]Grant {
	t.Helper()
	byLock := map[string][]Grant{}
	for _, p := range pairsOf(t, e) {
		if p.Invoke.F == history.FAcquire && p.Invoke.Process != history.Nemesis && p.Done() == history.OK {
			g := Grant{Owner: p.Invoke.Client, Fence: p.Lease().Fence, Call: p.Invoke.Index, Return: p.Complete.Index}
			byLock[p.Invoke.Lock] = append(byLock[p.Invoke.Lock], g)
		}
	}
	return byLock
}

// naive gives every operation the full interval that believed.go defines, in times of the history
// instead of ranks.
func naive(all []Span) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, s := range all {
		a := action{owner: s.Owner, mode: s.Mode}
		ops = append(ops, porcupine.Operation{Input: a, Call: int64(s.Invoke), Return: int64(s.OK)})
		if s.End != Forever {
			a.release = true
			ops = append(ops, porcupine.Operation{Input: a, Call: int64(s.End), Return: math.MaxInt64})
		}
	}
	return ops
}

func TestEveryModelThatAppliesGivesTheSameAnswer(t *testing.T) {
	ctx, end := context.Background(), time.Now().Add(time.Minute)
	for seed := range uint64(3000) {
		e := histories.Random(seed)
		byLock := spansOf(t, e)
		if e.Claims.ReadWrite || e.Claims.Permits > 0 {
			continue
		}
		for lock, all := range byLock {
			want := decideOn(ctx, end, spec{anyone: true}.model(), Merge(all))
			for name, got := range map[string]Answer{
				"owner-aware": decideOn(ctx, end, spec{}.model(), Merge(all)),
				"reentrant":   decideOn(ctx, end, spec{again: true}.model(), all),
				"read-write":  decideOn(ctx, end, spec{again: true, modes: true}.model(), all),
				"semaphore":   decideOn(ctx, end, spec{again: true, permits: 1}.model(), all),
			} {
				if got != want {
					t.Fatalf("seed %d, %s: %s says %s, the plain mutex %s", seed, lock, name, got, want)
				}
			}
		}
	}
}

// If many grants are concurrent, they are shrunk to instants to keep the search short. That
// must change no answer.
func TestShrinkingGrantsToInstantsChangesNoAnswer(t *testing.T) {
	for seed := range uint64(6000) {
		e := histories.Random(seed)
		if !e.Claims.Fenced {
			continue
		}
		m := ModelOf(history.Claims{Fenced: true, Reentrant: e.Claims.Reentrant}).spec.model()
		for lock, grants := range grantsOf(t, e) {
			want := porcupine.CheckOperationsTimeout(m, grantOperations(grants), 5*time.Second)
			shrunk := grantOperations(grants)
			shrinkToFences(shrunk)
			if got := porcupine.CheckOperationsTimeout(m, shrunk, 5*time.Second); got != want {
				t.Fatalf("seed %d, %s: got %s, want %s", seed, lock, got, want)
			}
		}
	}
}
