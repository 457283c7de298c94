package campaign

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// A program that runs trials itself plans the same trials as a campaign.
func TestAPlanningPlansWhatACampaignRuns(t *testing.T) {
	tb := sim.New()
	c := small(t, "set-nx-px", "none,delay,slot-migration")
	c.Named, c.Trials = true, 2
	ran := complete(t, Campaign{Config: c, Testbed: tb})
	p, err := NewPlanning(tb, c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Probes()
	if err != nil {
		t.Fatal(err)
	}
	if specs, _, err := p.Trials("delay"); err != nil || len(specs) > 0 {
		t.Errorf("before the probes: %d trials, %v; want none", len(specs), err)
	}
	for _, probe := range got {
		e, err := trial.Run(t.Context(), tb, probe, history.NewRecorder(nil, tb.Clock()), nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Saw(probe, nemesis.SightOf(e))
	}
	for _, fault := range p.Faults() {
		specs, lack, err := p.Trials(fault)
		if err != nil || (lack != nil) != (fault == "slot-migration") {
			t.Errorf("%s: lack %v, %v", fault, lack, err)
		}
		got = append(got, specs...)
	}
	if len(got) != len(ran.Trials) {
		t.Fatalf("%d trials, want %d", len(got), len(ran.Trials))
	}
	for _, r := range ran.Trials {
		s := r.Spec
		if !slices.ContainsFunc(got, func(o trial.Spec) bool { return reflect.DeepEqual(s, o) }) {
			t.Errorf("not planned: %s under %s, %s", s.Lock, s.Fault, s.Title())
		}
	}
}

func TestAPlanningIsOfOneLock(t *testing.T) {
	c := DefaultConfig()
	c.Locks, c.Trials = []string{"set-nx-px", "setnx"}, 1
	if _, err := NewPlanning(sim.New(), c); err == nil {
		t.Error("two locks were planned")
	}
}
