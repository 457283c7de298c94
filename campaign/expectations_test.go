package campaign

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/trial"
)

func TestWhereNothingIsLeftToLuckAFlawShowsUnderEachOfItsFaults(t *testing.T) {
	held := trialtest.Verdict("ownership", checker.Held)
	flaw := trialtest.Violated("ownership", checker.ForeignDelete)
	miss := func(fault string) Discrepancy {
		return Discrepancy{Lock: "test-flawed", Fault: fault, Oracle: "ownership", Cause: "foreign-delete"}
	}
	tests := []struct {
		name   string
		adjust func(*Info)
		trials []trial.Result
		want   []Discrepancy
	}{
		{"shown under one of two", nil, []trial.Result{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, []Discrepancy{miss("client-pause")}},
		{"shown under none", nil, []trial.Result{found("delay", 0, 1, held), found("client-pause", 0, 1, held)}, []Discrepancy{miss("client-pause"), miss("delay")}},
		{"not run to the end", nil, []trial.Result{found("delay", 0, 1, flaw)}, nil},
		{"a mix of faults shows what chance will", nil, []trial.Result{found("delay", 0, 1, flaw), found("client-pause", 0, 1, flaw), found("chaos", 0, 1, held)}, nil},
		{"without the named schedules, once is enough", func(i *Info) { i.Config.Named = false },
			[]trial.Result{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, nil},
		{"without them, missed wherever it was looked for", func(i *Info) { i.Config.Named = false },
			[]trial.Result{found("delay", 0, 1, held), found("client-pause", 0, 1, held)}, []Discrepancy{miss("client-pause,delay")}},
		{"on real time, once is enough", func(i *Info) { i.Deterministic = false },
			[]trial.Result{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, nil},
		{"chosen workloads, which nobody says show it", func(i *Info) { i.Config.Workloads = []string{"mutex"} },
			[]trial.Result{found("delay", 0, 1, held), found("client-pause", 0, 1, held)}, nil},
		{"more workloads than the standard ones", func(i *Info) { i.Config.Workloads = []string{"mutex", "standard"} },
			[]trial.Result{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, []Discrepancy{miss("client-pause")}},
		{"a chosen timeout, of which nobody says that it shows it", func(i *Info) { i.Config.CommandTimeout = 3 * time.Second },
			[]trial.Result{found("delay", 0, 1, held), found("client-pause", 0, 1, held)}, nil},
		{"the timeout that is the default", func(i *Info) { i.Config.CommandTimeout = i.Config.TTL / 2 },
			[]trial.Result{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, []Discrepancy{miss("client-pause")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info := Info{Config: DefaultConfig(), Deterministic: true}
			info.Config.Named, info.Config.Trials = true, 1
			for _, fault := range []string{"client-pause", "delay", "chaos"} {
				info.Plan = append(info.Plan, PlannedCell{Lock: "test-flawed", Fault: fault, Workloads: []string{"mutex"}})
			}
			if test.adjust != nil {
				test.adjust(&info)
			}
			// Look only at this flaw of test-flawed.
			got := slices.DeleteFunc(missed(info, test.trials), func(s Discrepancy) bool { return s.Cause != "foreign-delete" })
			if !slices.Equal(got, test.want) {
				t.Errorf("missed %+v, want %+v", got, test.want)
			}
		})
	}
}

// A missed flaw that a stall may have hidden is marked as hidden, and counts as undecided. On virtual
// time there are no stalls.
func TestMissedBehindAStall(t *testing.T) {
	info := Info{Config: Config{Confirm: "x", Trials: 1}, Sought: []Sought{
		{"set-nx-px", "delay", "exclusion", "lease-outlived"}, {"set-nx-px", "eviction", "exclusion", "server-lost-key"},
	}}
	for _, s := range info.Sought {
		info.Plan = append(info.Plan, PlannedCell{Lock: s.Lock, Fault: s.Fault, Named: 1})
	}
	ran := func(fault string) trial.Result {
		return trial.Result{Spec: trial.Spec{Lock: "set-nx-px", Fault: fault, Schedule: "x"}, Verdicts: []checker.Verdict{trialtest.Verdict("exclusion", checker.Held)}}
	}
	told := func(all ...checker.Verdict) func(*trial.Result) { return func(t *trial.Result) { t.Verdicts = all } }
	for name, c := range map[string]struct {
		first  func(*trial.Result)
		det    bool
		hidden bool
		code   int
	}{
		"nothing was in doubt":      {func(*trial.Result) {}, false, false, ExitUnexpected},
		"it was in doubt":           {told(inDoubtOf("exclusion", checker.LeaseOutlived)), false, true, ExitUnexpected},
		"in doubt, cause unknown":   {told(inDoubtOf("exclusion", checker.Unclassified)), false, true, ExitUnexpected},
		"its oracle could not tell": {told(trialtest.Verdict("exclusion", checker.Unknown)), false, true, ExitUnexpected},
		"another's could not":       {told(trialtest.Verdict("exclusion", checker.Held), trialtest.Verdict("liveness", checker.Unknown)), false, false, ExitUnexpected},
		"the trial was spoilt":      {func(t *trial.Result) { t.Spoilt = true }, false, true, ExitUnexpected},
		"trials do the same again":  {func(t *trial.Result) { t.Spoilt = true }, true, false, ExitUnexpected},
		"something else in doubt":   {told(inDoubtOf("exclusion", checker.Race)), false, false, ExitUnexpected},
		"all that is missed hidden": {nil, false, true, ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			info := info
			info.Deterministic = c.det
			trials := []trial.Result{ran("delay"), ran("eviction")}
			if c.first != nil {
				c.first(&trials[0])
			} else {
				trials[0].Spoilt, trials[1].Spoilt = true, true
			}
			got := missed(info, trials)
			if len(got) != 2 || got[0].Hidden != c.hidden {
				t.Fatalf("got %+v, want hidden %v of the first of two", got, c.hidden)
			}
			m := Matrix{Missed: got}
			if code := m.ExitCode(true); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if code := m.ExitCode(false); code != ExitExpected {
				t.Errorf("without expectations: exit code %d", code)
			}
		})
	}
}
