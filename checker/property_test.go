package checker

import (
	"context"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// randomHistories is the number of random histories on which sweep, porcupine and the definition
// (bruteForce) must agree.
const randomHistories = 12_000

func TestSweepPorcupineAndTheDefinitionAgreeOnRandomHistories(t *testing.T) {
	made := randomHistories
	violated, nested, beside, dropped := 0, 0, 0, 0
	byKind := make([]int, len(histories.Kinds)) // number of violated histories by kind
	for seed := range uint64(made) {
		e := histories.Random(seed)
		found := sweepHolds(NewCase(e))
		undecided, err := compare(found.Locks, linearize(context.Background(), NewCase(e)))
		if err != nil || len(undecided) > 0 {
			t.Fatalf("seed %d: %v; undecided: %v", seed, err, undecided)
		}
		if want := bruteForce(e); !maps.Equal(found.Locks, want) {
			t.Fatalf("seed %d: sweep and porcupine say %v, the definition says %v", seed, found.Locks, want)
		}
		if len(found.Locks) > 0 {
			violated++
			byKind[seed%uint64(len(histories.Kinds))]++
		}
		n, b, d := features(t, e)
		nested, beside, dropped = nested+n, beside+b, dropped+d
	}
	t.Logf("%d histories: %d violated, %d with re-entry, %d with readers together, %d with info acquires",
		made, violated, nested, beside, dropped)
	for i, n := range byKind {
		if of := made / len(histories.Kinds); n < of/20 || n > of-of/20 {
			t.Errorf("%d of %d histories of %+v are violated: too one-sided to mean anything", n, of, histories.Kinds[i])
		}
	}
	for what, n := range map[string]int{
		"violated": violated, "legal": made - violated, "re-entry": nested, "readers together": beside, "info": dropped,
	} {
		if n < made/40 {
			t.Errorf("only %d histories of %d are %s: too few to mean anything", n, made, what)
		}
	}
}

// features returns three numbers, each 1 if e has the feature: a nested acquire, two
// readers at the same time, an acquire of unknown outcome.
func features(t *testing.T, e history.Evidence) (nested, beside, dropped int) {
	t.Helper()
	holds, err := Holds(e)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range holds {
		if len(h.Nested) > 0 && e.Claims.Reentrant {
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

func TestBothSidesOfFencingAndTheDefinitionAgreeOnRandomHistories(t *testing.T) {
	violated, total := 0, 0
	for seed := range uint64(randomHistories) {
		e := histories.Random(seed)
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

// agreeOnFences reports whether fences regress. It fails the test if sweep, porcupine and the
// definition (bruteFences) differ.
func agreeOnFences(t rapid.TB, e history.Evidence) bool {
	given, err := readFences(NewCase(e))
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

// Rapid draws histories of its own. If sweep and porcupine differ on one, rapid shrinks that history
// and shows the smallest one.
func TestSweepAndPorcupineAgreeOnEveryModel(t *testing.T) {
	for _, claims := range histories.Kinds {
		t.Run(linear.ModelOf(claims).Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				e := histories.Gamble(histories.RapidDice{T: t}, claims)
				for _, o := range oracles() {
					if _, err := o.ask(context.Background(), NewCase(e)); err != nil {
						t.Fatalf("%s: %v", o.Name, err)
					}
				}
				if claims.Fenced {
					agreeOnFences(t, e)
				}
			})
		})
	}
}
