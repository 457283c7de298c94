package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/trial"
)

// measuredTrial returns a trial of lock a under the fault delay, with progress p.
func measuredTrial(p progress.Measures, hits int) trial.Result {
	return trial.Result{Spec: trial.Spec{Lock: "a", Fault: "delay", Plan: nemesis.Plan{{}}}, Hits: hits, Progress: &p}
}

// columnsOf returns the texts of the only row that these trials give, by column.
func columnsOf(t *testing.T, trials ...trial.Result) map[string]string {
	t.Helper()
	tables := progressTables([]string{"a"}, []string{"none", "delay"}, trials)
	if len(tables) != 1 || len(tables[0].Rows) != 1 {
		t.Fatalf("got %+v, want one row", tables)
	}
	out := map[string]string{}
	for i, m := range measures {
		out[m.Name] = tables[0].Rows[0].Texts[i]
	}
	return out
}

func TestTypicalIsTheMedianOfTrialsAndWorstTheWorst(t *testing.T) {
	wait := func(n int, median, p95, most time.Duration) progress.Measures {
		return progress.Measures{Waits: n, WaitMedian: median, WaitP95: p95, WaitMax: most}
	}
	for _, c := range []struct {
		name   string
		trials []progress.Measures
		want   map[string]string
	}{
		{"a trial with many waits counts as one with few", []progress.Measures{
			wait(1000, reporttest.MS(1), reporttest.MS(2), reporttest.MS(3)), wait(1, reporttest.MS(20), reporttest.MS(30), reporttest.MS(40)), wait(1, reporttest.MS(50), reporttest.MS(60), reporttest.MS(7000)),
		}, map[string]string{"trials": "3", "typical wait": "20 ms", "slow wait": "30 ms", "longest wait": "7.0 s", "in vain": "0 of 1002"}},
		{"a trial in which nobody got in has no typical wait", []progress.Measures{
			wait(4, reporttest.MS(8), reporttest.MS(9), reporttest.MS(10)), {InVain: 3},
		}, map[string]string{"trials": "2", "typical wait": "8 ms", "in vain": "3 of 7"}},
		{"nobody got in at all", []progress.Measures{{InVain: 2}},
			map[string]string{"typical wait": "–", "slow wait": "–", "longest wait": "–", "in vain": "2 of 2", "fairness": "–"}},
		{"the most bypasses of any trial", []progress.Measures{{Bypasses: 90, BypassesMax: 3}, {Bypasses: 5, BypassesMax: 5}},
			map[string]string{"overtaken": "5"}},
		{"fairness needs a grant for everybody", []progress.Measures{
			{Jain: 1. / 3, Grants: 1, Clients: 3}, {Jain: 1, Grants: 9, Clients: 1}, {Jain: 0.5, Grants: 9, Clients: 2}, {Jain: 0.9, Grants: 9, Clients: 3}, {Jain: 1, Grants: 6, Clients: 3},
		}, map[string]string{"fairness": "0.90 / 0.50"}},
		{"means are over the cases of all trials", []progress.Measures{
			{Losses: 3, LossLagSum: reporttest.MS(30), LossLagMax: reporttest.MS(20), Orphans: 1, OrphanSum: reporttest.MS(1000), OrphanMax: reporttest.MS(1000), Recoveries: 1, RecoverySum: reporttest.MS(100), RecoveryMax: reporttest.MS(100)},
			{Losses: 1, LossLagSum: reporttest.MS(90), LossLagMax: reporttest.MS(90), Recoveries: 1, RecoverySum: reporttest.MS(1300), RecoveryMax: reporttest.MS(1300), Unrecovered: 2},
		}, map[string]string{"noticed after": "30 ms / 90 ms", "orphaned key": "1.0 s", "recovery": "700 ms / 1.3 s", "no recovery": "2 of 4"}},
		{"what a grant and a held lock cost, and what is left behind", []progress.Measures{
			{GrantCommandsMedian: 2, GrantCommandsMax: 9, HeldCommands: 30, HeldTime: reporttest.MS(1000)},
			{GrantCommandsMedian: 4, GrantCommandsMax: 5, HeldCommands: 8, HeldTime: reporttest.MS(2000), Leftovers: 2, LeftoverSum: reporttest.MS(600), LeftoverMost: progress.Leftover{From: reporttest.MS(100), Until: reporttest.MS(500)}},
		}, map[string]string{"commands a grant": "2 / 9", "commands a second": "4 / 30", "left behind": "300 ms / 400 ms"}},
		{"what was not seen", []progress.Measures{{Waits: 1}},
			map[string]string{"commands a grant": "–", "commands a second": "–", "left behind": "–", "typical wait": "< 1 ms", "noticed after": "–", "orphaned key": "–", "recovery": "–", "no recovery": "–"}},
	} {
		var trials []trial.Result
		for _, p := range c.trials {
			trials = append(trials, measuredTrial(p, 1))
		}
		got := columnsOf(t, trials...)
		for column, want := range c.want {
			if got[column] != want {
				t.Errorf("%s: %s: got %q, want %q", c.name, column, got[column], want)
			}
		}
	}
}

func TestTrialsThatSayNothingOfTheirFaultAreNotMeasured(t *testing.T) {
	idle := measuredTrial(progress.Measures{Waits: 1, WaitMax: time.Hour}, 0)
	failed := measuredTrial(progress.Measures{Waits: 1, WaitMax: time.Hour}, 1)
	failed.Err = "it broke"
	unmeasured := measuredTrial(progress.Measures{}, 1)
	unmeasured.Progress = nil
	if got := columnsOf(t, idle, failed, unmeasured, measuredTrial(progress.Measures{Waits: 1, WaitMax: reporttest.MS(5)}, 1)); got["trials"] != "1" || got["longest wait"] != "5 ms" {
		t.Errorf("got %v", got)
	}
	if tables := progressTables([]string{"a"}, []string{"delay"}, []trial.Result{idle}); len(tables) != 0 {
		t.Errorf("a recipe whose faults hit nothing has %+v", tables)
	}
}

func TestCampaignsWithoutMeasuresHaveNoTable(t *testing.T) {
	r := sampleResult(t)
	for i := range r.Trials {
		r.Trials[i].Progress = nil
	}
	drawn := drawPlots(r)
	if slices.ContainsFunc(drawn, func(p plots.Plot) bool { return p.File == "recovery.svg" }) {
		t.Error("recoveries are drawn")
	}
	html, err := htmlReport(r, drawn)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(html), "How the clients fared") {
		t.Error("there is a table")
	}
}

// Recipes are compared in the workload that most of them ran, because waits in different workloads
// cannot be compared.
func TestRecipesAreComparedInOneWorkload(t *testing.T) {
	in := func(lock, workload string, wait time.Duration) trial.Result {
		return trial.Result{Spec: trial.Spec{Lock: lock, Fault: "none", Workload: workload}, Progress: &progress.Measures{Waits: 1, WaitMedian: wait, WaitMax: wait}}
	}
	trials := []trial.Result{
		in("renews", "two-locks", reporttest.MS(1)), in("renews", "two-locks", reporttest.MS(1)), in("renews", "mutex", reporttest.MS(200)),
		in("plain", "mutex", reporttest.MS(130)),
		in("shared", "read-write", reporttest.MS(50)), in("shared", "transfer", reporttest.MS(900)),
	}
	var got []string
	for _, table := range progressTables([]string{"plain", "renews", "shared"}, []string{"none"}, trials) {
		got = append(got, joinWords(": ", table.Recipe, table.Workload, table.Rows[0].Texts[0], table.Gist))
	}
	want := []string{
		"plain: mutex: 1: undisturbed: typical wait 130 ms",
		"renews: mutex: 1: undisturbed: typical wait 200 ms",
		"shared: read-write: 1: undisturbed: typical wait 50 ms",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
