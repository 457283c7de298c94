package campaign

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// A holder freezes for three leases. The violation is averted if the pause ends within the lease,
// and certain if the pause ends after another client could acquire the lock.
func TestAViolationBecomesCertainWhenTheLeaseIsOver(t *testing.T) {
	c := sweepConfig(t)
	spec, err := PlanNamed(t.Context(), sim.New(), c, "set-nx-px", "client-pause", "mutex", "hold.size3.round1-1of2")
	if err != nil {
		t.Fatal(err)
	}
	d, original, _, err := Replay{Testbed: sim.New(), Spec: spec}.Decide(t.Context(), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Points) < 10 || d.Flaw != original.Flaws[0] || d.Certain == 0 {
		t.Fatalf("got %+v", d)
	}
	for i, p := range d.Points {
		if i >= d.Certain && p.Violated < p.Runs || i == d.Certain-1 && p.Violated == p.Runs {
			t.Errorf("at %v %d of %d are violated, certain from %v on", p.At, p.Violated, p.Runs, d.Points[d.Certain].At)
		}
	}
	if first := d.Points[0]; first.Violated > 0 {
		t.Errorf("before the fault %d of %d are violated", first.Violated, first.Runs)
	}
	if certain := d.Points[d.Certain].At; certain > d.Shown || d.Shown-certain > 300*time.Millisecond {
		t.Errorf("certain from %v on, shown at %v", certain, d.Shown)
	}
}

func TestWhatShowsNoFlawIsNotDecided(t *testing.T) {
	c := sweepConfig(t)
	spec, err := PlanNamed(t.Context(), sim.New(), c, "set-nx-px", "client-pause", "mutex", "hold.size0.25.round1-1of2")
	if err != nil {
		t.Fatal(err)
	}
	var bad *input.Error
	if _, _, _, err := (Replay{Testbed: sim.New(), Spec: spec}).Decide(t.Context(), 1, 1); !errors.As(err, &bad) {
		t.Errorf("got %v, want an input.Error", err)
	}
}
