package checker

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// randomHistories is how many made-up histories the checkers must agree on.
const randomHistories = 12_000

func TestSweepPorcupineAndTheDefinitionAgreeOnRandomHistories(t *testing.T) {
	violated, nested, beside, dropped := 0, 0, 0, 0
	byKind := make([]int, len(lockKinds)) // violated
	for seed := range uint64(randomHistories) {
		e := randomEvidence(seed)
		found, err := sweepHolds(newCaseFile(e))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		results, err := linearize(context.Background(), newCaseFile(e))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		undecided, err := compare(found.locks, results)
		if err != nil || len(undecided) > 0 {
			t.Fatalf("seed %d: %v; undecided: %v", seed, err, undecided)
		}
		if want := bruteForce(e); !maps.Equal(found.locks, want) {
			t.Fatalf("seed %d: sweep and porcupine say %v, the definition says %v", seed, found.locks, want)
		}
		if len(found.locks) > 0 {
			violated++
			byKind[seed%uint64(len(lockKinds))]++
		}
		n, b, d := features(t, e)
		nested, beside, dropped = nested+n, beside+b, dropped+d
	}
	t.Logf("%d histories: %d violated, %d with re-entry, %d with readers together, %d with info acquires",
		randomHistories, violated, nested, beside, dropped)
	for i, n := range byKind {
		if of := randomHistories / len(lockKinds); n < of/20 || n > of-of/20 {
			t.Errorf("%d of %d histories of %+v are violated: too one-sided to mean anything", n, of, lockKinds[i])
		}
	}
	for what, n := range map[string]int{
		"violated": violated, "legal": randomHistories - violated, "re-entry": nested, "readers together": beside, "info": dropped,
	} {
		if n < randomHistories/40 {
			t.Errorf("only %d histories of %d are %s: too few to mean anything", n, randomHistories, what)
		}
	}
}

// features says whether e has re-entry, readers beside each other, and info acquires.
func features(t *testing.T, e history.Evidence) (nested, beside, dropped int) {
	t.Helper()
	holds, err := Holds(e)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range holds {
		if len(h.Again) > 0 && e.Claims.Reentrant {
			nested = 1
		}
		for _, g := range holds[:i] {
			if g.Client != h.Client && g.Lock == h.Lock && g.Mode == history.Read && h.Mode == history.Read && h.From < g.To {
				beside = 1
			}
		}
	}
	for _, op := range e.Ops {
		if op.F == history.FAcquire && op.Type == history.Info {
			dropped = 1
		}
	}
	return nested, beside, dropped
}

// A release that stays open to infinity, as the definition has it, and every
// other interval that contains the canonical points must give the same answer
// as what operations and chunks make of them.
func TestShorterIntervalsAndCutsChangeNoAnswer(t *testing.T) {
	for seed := range uint64(1500) {
		e := randomEvidence(seed)
		byLock, err := spans(newCaseFile(e))
		if err != nil {
			t.Fatal(err)
		}
		for _, lock := range slices.Sorted(maps.Keys(byLock)) {
			all := byLock[lock]
			if len(all) > 9 {
				continue // the naive search would not end
			}
			b := blueprintFor(unfenced(e.Claims))
			m := b.build(e.Claims.Permits)
			if !b.counts {
				all = mergeOwn(all)
			}
			want := porcupine.CheckOperationsTimeout(m, naive(all), 5*time.Second)
			points := operations(all)
			for i := range points {
				points[i].Call, points[i].Return = int64(i), int64(i)
			}
			for at := 1; at < len(all); at++ {
				carried := porcupine.Ok
				rest := append(carry(all[:at], all[at].ok), all[at:]...)
				for _, part := range [][]span{all[:at], rest} {
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

// naive gives every operation the interval of the definition, in real times.
func naive(all []span) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, s := range all {
		a := action{owner: s.owner, mode: s.mode}
		ops = append(ops, porcupine.Operation{Input: a, Call: int64(s.invoke), Return: int64(s.ok)})
		if s.end != forever {
			a.release = true
			ops = append(ops, porcupine.Operation{Input: a, Call: int64(s.end), Return: math.MaxInt64})
		}
	}
	return ops
}

func TestEveryModelThatAppliesGivesTheSameAnswer(t *testing.T) {
	ctx, end := context.Background(), time.Now().Add(time.Minute)
	for seed := range uint64(3000) {
		e := randomEvidence(seed)
		byLock, err := spans(newCaseFile(e))
		if err != nil {
			t.Fatal(err)
		}
		if e.Claims.ReadWrite || e.Claims.Permits > 0 {
			continue
		}
		for lock, all := range byLock {
			want := linearizeOn(ctx, end, mutexModel, mergeOwn(all))
			for name, got := range map[string]porcupine.CheckResult{
				"owner-aware": linearizeOn(ctx, end, ownedModel, mergeOwn(all)),
				"reentrant":   linearizeOn(ctx, end, reentrantModel, all),
				"read-write":  linearizeOn(ctx, end, readWriteModel, all),
				"semaphore":   linearizeOn(ctx, end, semaphoreModel(1), all),
			} {
				if got != want {
					t.Fatalf("seed %d, %s: %s says %s, the plain mutex %s", seed, lock, name, got, want)
				}
			}
		}
	}
}

func TestBothSidesOfFencingAndTheDefinitionAgreeOnRandomHistories(t *testing.T) {
	violated, total := 0, 0
	for seed := range uint64(randomHistories) {
		e := randomEvidence(seed)
		if !e.Claims.Fenced {
			continue
		}
		total++
		if agreeOnFences(t, e) {
			violated++
		}
	}
	t.Logf("%d of %d violated", violated, total)
	if violated < total/10 || violated > total-total/10 {
		t.Errorf("%d of %d histories are violated: too one-sided to mean anything", violated, total)
	}
}

// agreeOnFences says whether fences regress, and fails where three deciders differ.
func agreeOnFences(t rapid.TB, e history.Evidence) bool {
	given, err := readFences(newCaseFile(e))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, r := range sweepFences(e.Claims, given) {
		found[r.lock] = true
	}
	undecided, err := compare(found, linearizeFences(context.Background(), e.Claims, given))
	if err != nil || len(undecided) > 0 {
		t.Fatalf("%v; undecided: %v", err, undecided)
	}
	if want := bruteFences(e); !maps.Equal(found, want) {
		t.Fatalf("sweep and porcupine say %v, the definition says %v", found, want)
	}
	return len(found) > 0
}

// Where so many grants are concurrent that the search would be long, shrinking
// them must change no answer.
func TestShrinkingGrantsToInstantsChangesNoAnswer(t *testing.T) {
	for seed := range uint64(6000) {
		e := randomEvidence(seed)
		given, err := readFences(newCaseFile(e))
		if err != nil || !e.Claims.Fenced {
			continue
		}
		m := blueprintFor(history.Claims{Fenced: true, Reentrant: e.Claims.Reentrant}).build(0)
		for lock, grants := range given.grants {
			want := porcupine.CheckOperationsTimeout(m, grantOperations(grants), 5*time.Second)
			shrunk := grantOperations(grants)
			shrinkToFences(shrunk)
			if got := porcupine.CheckOperationsTimeout(m, shrunk, 5*time.Second); got != want {
				t.Fatalf("seed %d, %s: got %s, want %s", seed, lock, got, want)
			}
		}
	}
}

// rapidDice draws what rapid can shrink.
type rapidDice struct{ t *rapid.T }

func (d rapidDice) IntN(n int) int   { return rapid.IntRange(0, n-1).Draw(d.t, "n") }
func (d rapidDice) Float64() float64 { return float64(rapid.IntRange(0, 999).Draw(d.t, "p")) / 1000 }

// Rapid finds what the seeds above do not, and shows the smallest history on which
// sweep and porcupine differ.
func TestSweepAndPorcupineAgreeOnEveryModel(t *testing.T) {
	for _, claims := range lockKinds {
		t.Run(fmt.Sprintf("%+v", blueprintFor(claims).Name), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				e := gamble(rapidDice{t}, claims)
				for _, o := range oracles() {
					if _, err := o.ask(context.Background(), newCaseFile(e)); err != nil {
						t.Fatalf("%s: %v", o.name, err)
					}
				}
				if claims.Fenced {
					agreeOnFences(t, e)
				}
			})
		})
	}
}
