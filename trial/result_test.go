package trial

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestOutcomeOfATrialIsItsWorstVerdict(t *testing.T) {
	declared := []locks.Flaw{
		{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit, Faults: []string{"client-pause"}},
		{Oracle: "ownership", Cause: "foreign-delete", Kind: locks.Bug, Faults: []string{"delay", "none"}},
		{Oracle: "liveness", Cause: "orphaned-key", Kind: locks.Limit, Faults: []string{"client-crash"}},
		{Oracle: "liveness", Cause: "no-expiry", Kind: locks.Bug, Faults: []string{"client-crash"}},
	}
	holds := trialtest.Verdict("exclusion", checker.Held)
	strike := nemesis.Plan{{ID: 1}}
	tests := []struct {
		name     string
		plan     nemesis.Plan
		hits     int
		verdicts []checker.Verdict
		outcome  Outcome
		kind     locks.Kind
	}{
		{"holds", strike, 1, []checker.Verdict{holds}, Holds, ""},
		{"a fault that hit nothing is no pass", strike, 0, []checker.Verdict{holds}, NotExercised, ""},
		{"without a fault there is nothing to hit", nil, 0, []checker.Verdict{holds}, Holds, ""},
		{"oracles with nothing to judge are no pass", strike, 1, []checker.Verdict{trialtest.Verdict("exclusion", checker.NotApplicable)}, NotExercised, ""},
		{"unknown outranks holds", strike, 1, []checker.Verdict{holds, trialtest.Verdict("resource", checker.Unknown)}, Unknown, ""},
		{"violated outranks unknown", strike, 1,
			[]checker.Verdict{trialtest.Violated("exclusion", checker.LeaseOutlived), trialtest.Verdict("resource", checker.Unknown)}, Violated, locks.Limit},
		{"a bug outranks a limit", strike, 1,
			[]checker.Verdict{trialtest.Violated("exclusion", checker.LeaseOutlived), trialtest.Violated("ownership", checker.ForeignDelete)}, Violated, locks.Bug},
		{"undeclared outranks a limit", strike, 1,
			[]checker.Verdict{trialtest.Violated("exclusion", checker.LeaseOutlived, checker.Race)}, Violated, ""},
		{"violated outranks blocked", strike, 1,
			[]checker.Verdict{trialtest.BlockedForEver(trialtest.Violated("liveness", checker.NoExpiry)), trialtest.Violated("exclusion", checker.LeaseOutlived)}, Violated, locks.Limit},
		{"blocked up to the lease time", strike, 1, []checker.Verdict{trialtest.Violated("liveness", checker.OrphanedKey)}, Blocked, locks.Limit},
		{"blocked for ever outranks that", strike, 1,
			[]checker.Verdict{trialtest.Violated("liveness", checker.OrphanedKey), trialtest.BlockedForEver(trialtest.Violated("liveness", checker.NoExpiry))}, Blocked, locks.Bug},
		{"a violation counts even if the fault hit nothing", strike, 0, []checker.Verdict{trialtest.Violated("exclusion", checker.LeaseOutlived)}, Violated, locks.Limit},
		{"undisturbed, a flaw must be declared for just that", nil, 0, []checker.Verdict{trialtest.Violated("exclusion", checker.LeaseOutlived)}, Violated, ""},
		{"undisturbed and declared", nil, 0, []checker.Verdict{trialtest.Violated("ownership", checker.ForeignDelete)}, Violated, locks.Bug},
		{"a violation without a finding", strike, 1, []checker.Verdict{trialtest.Violated("exclusion")}, Violated, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trial := Result{Spec: Spec{Fault: "chaos", Plan: test.plan}, Hits: test.hits, Verdicts: test.verdicts}
			if test.plan == nil {
				trial.Spec.Fault = "none"
			}
			trial.Weigh(declared)
			if trial.Outcome != test.outcome || trial.Kind != test.kind {
				t.Errorf("got %q %q, want %q %q; flaws %+v", trial.Outcome, trial.Kind, test.outcome, test.kind, trial.Flaws)
			}
		})
	}
}

// A false answer comes last among flaws of equal weight: the first flaw becomes the trial's title.
func TestAFalseAnswerComesAfterWhatWeighsTheSame(t *testing.T) {
	trial := Result{Spec: Spec{Fault: "none"}, Verdicts: []checker.Verdict{
		trialtest.Violated("conduct", checker.FalseAnswer), trialtest.Violated("ownership", checker.ForeignDelete), trialtest.Violated("liveness", checker.OrphanedKey),
	}}
	trial.Weigh(nil)
	var got []string
	for _, f := range trial.Flaws {
		got = append(got, f.Cause)
	}
	if want := []string{"foreign-delete", "false-answer", "orphaned-key"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAFailedTrialIsUnknown(t *testing.T) {
	trial := Result{Err: "no space left", Verdicts: []checker.Verdict{trialtest.Verdict("exclusion", checker.Held)}}
	trial.Weigh(nil)
	if trial.Outcome != Unknown {
		t.Errorf("got %q, want %q", trial.Outcome, Unknown)
	}
}

func TestAFlawIsDeclaredForFaultsAndForAMixOfAny(t *testing.T) {
	declared := []locks.Flaw{
		{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit, Faults: []string{"client-pause"}, Also: []string{"delay"}},
	}
	for fault, want := range map[string]locks.Kind{
		"client-pause": locks.Limit, "delay": locks.Limit, "chaos": locks.Limit, "reset": "", "none": "",
	} {
		trial := Result{Spec: Spec{Fault: fault, Plan: nemesis.Plan{{ID: 1}}}, Verdicts: []checker.Verdict{trialtest.Violated("exclusion", checker.LeaseOutlived)}}
		trial.Weigh(declared)
		if trial.Kind != want || trial.Outcome != Violated {
			t.Errorf("under %s: got %s %q, want %s %q", fault, trial.Outcome, trial.Kind, Violated, want)
		}
	}
}

func TestAFaultMayShowWhatAnotherThatItBringsAboutMay(t *testing.T) {
	declared := []locks.Flaw{{Oracle: "exclusion", Cause: "server-lost-key", Kind: locks.Limit, Faults: []string{"failover"}}}
	for topology, want := range map[testbed.Topology]locks.Kind{
		testbed.Sentinel:   locks.Limit, // Sentinel replaces a frozen primary
		testbed.Replicated: "",
	} {
		s := Spec{Fault: "node-pause", Topology: topology}
		if got := kindOf(s, "exclusion", "server-lost-key", declared); got != want {
			t.Errorf("%s: got %q, want %q", topology, got, want)
		}
	}
}

func TestDeclarationForTheFaultItselfWins(t *testing.T) {
	declared := []locks.Flaw{
		{Oracle: "liveness", Cause: "late-command", Kind: locks.Limit, Faults: []string{"delay"}},
		{Oracle: "liveness", Cause: "late-command", Kind: locks.Bug, Faults: []string{"node-pause"}},
	}
	for fault, want := range map[string]locks.Kind{"delay": locks.Limit, "node-pause": locks.Bug, "chaos": locks.Limit} {
		trial := Result{Spec: Spec{Fault: fault, Plan: nemesis.Plan{{ID: 1}}}, Verdicts: []checker.Verdict{trialtest.Violated("liveness", checker.LateCommand)}}
		trial.Weigh(declared)
		if trial.Kind != want {
			t.Errorf("under %s: got %q, want %q", fault, trial.Kind, want)
		}
	}
}
