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

// A flaw's kind is declared for the trial's fault, for one that this fault provokes, or for one that the workload
// resembles, perhaps for a single oracle only (Workload.LikeIn). In a mix of faults, any declaration counts.
func TestAFlawsKindIsTheOneThatIsDeclaredForItsFault(t *testing.T) {
	limit := func(oracle string, cause checker.Cause, faults ...string) locks.Flaw {
		return locks.Flaw{Oracle: oracle, Cause: string(cause), Kind: locks.Limit, Faults: faults}
	}
	paused := limit("exclusion", checker.LeaseOutlived, "client-pause")
	paused.Also = []string{"delay"}
	late := limit("liveness", checker.LateCommand, "node-pause")
	late.Kind = locks.Bug
	declared := []locks.Flaw{
		paused, limit("exclusion", checker.LeaseOutlived, "slow-work"), limit("resource", checker.LeaseOutlived, "slow-work"),
		limit("exclusion", checker.ServerLostKey, "failover"), limit("liveness", checker.LateCommand, "delay"), late,
		limit("liveness", checker.OrphanedKey, "lost-reply"),
	}
	for _, c := range []struct {
		fault, workload string
		topology        testbed.Topology
		oracle          string
		cause           checker.Cause
		want            locks.Kind
	}{
		{"client-pause", "mutex", "", "exclusion", checker.LeaseOutlived, locks.Limit},
		{"delay", "mutex", "", "exclusion", checker.LeaseOutlived, locks.Limit},
		{"chaos", "mutex", "", "exclusion", checker.LeaseOutlived, locks.Limit},
		{"reset", "mutex", "", "exclusion", checker.LeaseOutlived, ""},
		{"none", "mutex", "", "exclusion", checker.LeaseOutlived, ""},
		{"delay", "mutex", "", "liveness", checker.LateCommand, locks.Limit},
		{"node-pause", "mutex", "", "liveness", checker.LateCommand, locks.Bug},
		{"chaos", "mutex", "", "liveness", checker.LateCommand, locks.Limit},
		{"node-pause", "mutex", testbed.Sentinel, "exclusion", checker.ServerLostKey, locks.Limit}, // Sentinel replaces a frozen primary
		{"node-pause", "mutex", testbed.Replicated, "exclusion", checker.ServerLostKey, ""},
		{"none", "mutex", "", "liveness", checker.OrphanedKey, ""},
		{"none", "cancel", "", "liveness", checker.OrphanedKey, locks.Limit},
		{"none", "fenced-write", "", "exclusion", checker.LeaseOutlived, locks.Limit},
		{"reset", "fenced-write", "", "exclusion", checker.LeaseOutlived, locks.Limit},
		{"none", "fenced-write", "", "resource", checker.LeaseOutlived, ""},
		{"slow-work", "fenced-write", "", "resource", checker.LeaseOutlived, locks.Limit},
		{"none", "extend", "", "resource", checker.LeaseOutlived, locks.Limit},
	} {
		spec := Spec{Fault: c.fault, Workload: c.workload, Topology: c.topology, Plan: nemesis.Plan{{ID: 1}}}
		trial := Result{Spec: spec, Verdicts: []checker.Verdict{trialtest.Violated(c.oracle, c.cause)}}
		if trial.Weigh(declared); trial.Kind != c.want {
			t.Errorf("%+v: got %s %q", c, trial.Outcome, trial.Kind)
		}
	}
}
