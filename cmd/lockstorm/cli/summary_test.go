package cli

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

func TestPaceSaysHowMuchWasDone(t *testing.T) {
	trials := func(n int, virtual time.Duration) []trial.Result {
		all := make([]trial.Result, n)
		for i := range all {
			all[i].Virtual = virtual
		}
		return all
	}
	tests := []struct {
		name string
		s    campaign.Stored
		want []string
	}{
		{"an interrupted campaign", campaign.Stored{}, nil},
		{"real time", campaign.Stored{Info: campaign.Info{Elapsed: 400 * time.Second}, Trials: trials(1300, 0)},
			[]string{"1300 trials in 6m40s, 3.25 a second"}},
		{"a busy machine", campaign.Stored{Info: campaign.Info{Elapsed: 400 * time.Second}, Trials: append(trials(1298, 0),
			trial.Result{Stall: 99700 * time.Microsecond},
			trial.Result{Stall: 123880 * time.Microsecond})},
			[]string{"1300 trials in 6m40s, 3.25 a second", "the machine stalled in 2 of 1300 trials, longest 123.9 ms; their doubtful violations do not count"}},
		{"virtual time", campaign.Stored{
			Info: campaign.Info{Elapsed: 41 * time.Second, Deterministic: true}, Trials: trials(1920, 6*time.Second), Reproduced: 40,
		}, []string{
			"1920 trials in 41 s, 46.8 a second; 40 trials repeated: identical",
			"virtual time: 3h12m in 41 s (281x)",
		}},
		{"virtual time that is slower than real time", campaign.Stored{Info: campaign.Info{Elapsed: 38 * time.Second}, Trials: trials(29, time.Second)}, []string{
			"29 trials in 38 s, 0.763 a second",
			"virtual time: 29 s in 38 s (0.76x)",
		}},
		{"a lock that varies", campaign.Stored{
			Info: campaign.Info{Elapsed: time.Second, Varying: []campaign.Varying{{Lock: "b"}, {Lock: "a"}, {Lock: "b"}}}, Trials: trials(1, 0), Reproduced: 4,
		}, []string{
			"1 trial in 1.0 s, 1 a second; 4 trials repeated: identical; other trials of a and b differed",
		}},
		{"only a lock that varies", campaign.Stored{
			Info: campaign.Info{Elapsed: time.Second, Varying: []campaign.Varying{{Lock: "b"}}}, Trials: trials(1, 0),
		}, []string{
			"1 trial in 1.0 s, 1 a second; trials of b, repeated, differed",
		}},
		{"one trial that holds", campaign.Stored{Info: campaign.Info{Elapsed: 500 * time.Millisecond, Deterministic: true}, Trials: trials(1, time.Minute), Reproduced: 1}, []string{
			"1 trial in 0.5 s, 2 a second; 1 trial repeated: identical",
			"virtual time: 1m0s in 0.5 s (120x)",
		}},
	}
	for _, test := range tests {
		if got := throughput(test.s); !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", test.name, got, test.want)
		}
	}
}

func TestTheWorstUndeclaredViolationIsLookedAtFirstThenTheWorst(t *testing.T) {
	shows := func(lock, oracle, cause string, kind locks.Kind, story string) trial.Result {
		return trial.Result{
			Spec:     trial.Spec{Lock: lock, Fault: "delay", Workload: "mutex", Testbed: "sim", Trial: 3},
			Flaws:    []trial.Flaw{{Oracle: oracle, Cause: cause, Kind: kind}},
			Verdicts: []checker.Verdict{{Oracle: oracle, Findings: []checker.Finding{{Cause: checker.Cause(cause), Summary: story}}}},
		}
	}
	limit := shows("a", "exclusion", "lease-outlived", locks.Limit, "c1 outlived its lease.")
	bug := shows("b", "liveness", "no-expiry", locks.Bug, "the key of c1 never expires.")
	worseBug := shows("c", "exclusion", "race", locks.Bug, "c1 and c2 both got it.")
	ttl := shows("d", "liveness", "late-command", "", "c2 waited for a lease.")
	overlap := shows("e", "exclusion", "foreign-delete", "", "c2 deleted the key of c1.")
	const limitWords = `look at this first: a under delay: exclusion violated by lease-outlived, a declared limit
  c1 outlived its lease.
  bin/lockstorm replay --testbed sim --lock a --fault delay --workload mutex --seed 1 --trial 3
`
	for name, test := range map[string]struct {
		trials []trial.Result
		want   string
	}{
		"nothing": {nil, ""},
		"a limit": {[]trial.Result{limit}, limitWords},
		"the worse of two bugs": {[]trial.Result{limit, bug, worseBug}, `look at this first: c under delay: exclusion violated by race, a declared bug
  c1 and c2 both got it.
  bin/lockstorm replay --testbed sim --lock c --fault delay --workload mutex --seed 1 --trial 3
`},
		"the worse of two that are not declared": {[]trial.Result{limit, ttl, overlap}, `look at this first: e under delay: exclusion violated by foreign-delete, which the recipe does not declare
  c2 deleted the key of c1.
  bin/lockstorm replay --testbed sim --lock e --fault delay --workload mutex --seed 1 --trial 3
` + strings.Replace(limitWords, "look at this first", "then at this", 1)},
	} {
		config := campaign.DefaultConfig()
		config.Seed = 1
		var out bytes.Buffer
		a := app{output: output{program: "bin/lockstorm"}}
		a.firstLook(&out, campaign.Stored{Info: campaign.Info{Config: config, Deterministic: true}, Trials: test.trials})
		if out.String() != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, out.String(), test.want)
		}
	}
}

func TestOfALockThatDeclaresNothingNothingIsSaidToBeDeclared(t *testing.T) {
	locks.Register(locks.Recipe{ID: "own", Own: true, Topology: locks.Single, Flaws: locks.Limits(locks.Known{})})
	t.Cleanup(func() { locks.Unregister("own") })
	cells := func(names ...string) (all []campaign.Cell) {
		for _, lock := range names {
			all = append(all, campaign.Cell{Lock: lock, Fault: "delay", Verdict: trial.Holds}, campaign.Cell{Lock: lock, Fault: "none", Verdict: trial.Holds})
		}
		return all
	}
	const declared = "as expected: every declared flaw that was looked for was found, and no other"
	for want, cells := range map[string][]campaign.Cell{
		declared: cells("setnx"),
		"as expected: nothing but limits of any lease showed":                       cells("own"),
		declared + "; of own, which declares none, nothing but limits of any lease": cells("own", "setnx"),
	} {
		s := campaign.Stored{Matrix: campaign.Matrix{Cells: cells}}
		s.Info.Config.Expect = true
		var out bytes.Buffer
		new(app).asExpected(&out, s)
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var out bytes.Buffer
	new(app).firstLook(&out, campaign.Stored{Trials: []trial.Result{{
		Spec:     trial.Spec{Lock: "own", Fault: "client-pause", Workload: "mutex", Testbed: "sim"},
		Flaws:    []trial.Flaw{{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit}},
		Verdicts: []checker.Verdict{{Oracle: "exclusion", Findings: []checker.Finding{{Cause: checker.LeaseOutlived}}}},
	}}})
	if !strings.Contains(out.String(), "violated by lease-outlived, a limit of any lease\n") {
		t.Errorf("got %s", out.String())
	}
}

func TestTheCommandLineWithOtherLocksKeepsTheRest(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run --locks a,b --ttl 30s", "run --locks a,b,fenced --ttl 30s"},
		{"run --ttl 30s --locks=a,b", "run --ttl 30s --locks=a,b,fenced"},
		{"run --config c.yaml", "run --config c.yaml --locks a,b,fenced"},
	} {
		if got := strings.Join(withLocks(strings.Fields(c.args), []string{"a", "b", "fenced"}), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
}

func TestNothingIsWiderThanTheColumnsThatThePipeIsTold(t *testing.T) {
	t.Chdir(t.TempDir())
	store := "s"
	fits := func(what, text string) {
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if n := len([]rune(line)); n > 60 && strings.Contains(strings.Trim(line, ` \`), " ") {
				t.Errorf("%s: a line has %d columns: %s", what, n, line)
			}
		}
	}
	narrow := map[string]string{"COLUMNS": "60"}
	code, stdout, stderr := lockstormIn(t, narrow, "run", "--locks", "set-nx-px,setnx", "--faults", "none,client-pause,failover", "--trials", "1", "--shrink", "0", "--store", store)
	if code != 0 || !strings.Contains(stdout, "look at this first: ") || !strings.Contains(stdout, "\n  bin/lockstorm replay ") {
		t.Errorf("run: exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	if !strings.Contains(stdout, "\nuse only if a holder is done before its lease ends") || !strings.Contains(stdout, "\ndo not use: setnx\n") {
		t.Errorf("run does not tell which lock to use:\n%s", stdout)
	}
	const instead = "\nwhat to take instead is not in this run ("
	if !strings.Contains(stdout, instead) || !strings.Contains(stdout, "\n  bin/lockstorm run --locks") || !strings.Contains(stdout, " set-nx-px,setnx,fenced,") {
		t.Errorf("run does not tell how to compare with what to take instead:\n%s", stdout)
	}
	fits("run", stdout+stderr)
	latest := filepath.Join(store, "latest")
	kept, err := filepath.Glob(filepath.Join(latest, "trials", "setnx", "failover", "*"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("no trial of setnx was kept: %v", err)
	}
	for _, args := range append([][]string{{"report", latest}, {"store", "ls", "--store", store}, {"check", kept[0]}, {"replay", kept[0]}, {"answer", "read-write"}}, lists()...) {
		code, stdout, stderr := lockstormIn(t, narrow, args...)
		if want := map[string]int{"check": campaign.ExitUnexpected}[args[0]]; code != want {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
		fits(strings.Join(args, " "), stdout+stderr)
	}
}

func lists() (all [][]string) {
	for _, name := range listingNames() {
		all = append(all, []string{"list", name})
	}
	return all
}
