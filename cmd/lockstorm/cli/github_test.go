package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// manyFlaws returns a campaign with n undeclared flaws, each of another recipe, then the worst
// undeclared flaw. It also has a declared bug, a doubtful violation, and a cell whose fault was not
// exercised.
func manyFlaws(n int) campaign.Stored {
	s := campaign.Stored{Info: campaign.Info{Config: campaign.DefaultConfig(), Deterministic: true}, Matrix: campaign.Matrix{Testbed: "sim", Seed: 7}}
	s.Info.Config.Seed, s.Info.Config.Expect = 7, true
	add := func(lock, oracle string, kind locks.Kind) {
		s.Trials = append(s.Trials, trial.Result{
			Spec: trial.Spec{Lock: lock, Fault: "delay", Workload: "mutex", Testbed: "sim"}, Outcome: trial.Violated,
			Flaws:    []trial.Flaw{{Oracle: oracle, Cause: "race", Kind: kind}},
			Verdicts: []checker.Verdict{{Oracle: oracle, Findings: []checker.Finding{{Cause: "race", Summary: "c1 got it, 50 % of the time"}}}},
		})
	}
	add("declared", "exclusion", locks.Bug)
	for i := range n {
		add(fmt.Sprintf("lock-%02d", i), "liveness", "")
	}
	add("worst", "exclusion", "")
	s.Matrix.Doubtful = []campaign.Doubt{{Lock: "a", Fault: "delay", Flaws: []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}}}
	s.Matrix.Cells = []campaign.Cell{{Lock: "b", Fault: "eviction", Verdict: trial.NotExercised}}
	return s
}

// TestGitHubIsToldTheWorstFirst: each level has no more annotations than GitHub shows.
func TestGitHubIsToldTheWorstFirst(t *testing.T) {
	var out strings.Builder
	writeAnnotations(&out, annotations(manyFlaws(30)))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != mostAnnotations+1 {
		t.Errorf("%d annotations, want %d errors and a warning:\n%s", len(lines), mostAnnotations, out.String())
	}
	for i, want := range map[int]string{
		0:                   "::error title=Lockstorm%3A violation that is not declared::worst under delay: exclusion violated by race: c1 got it, 50 %25 of the time%0Alockstorm replay --testbed sim --lock worst --fault delay --workload mutex --seed 7 --trial 0",
		mostAnnotations - 1: "::error title=Lockstorm%3A and more::23 more: see the log of this step, or report.md of the stored campaign",
		mostAnnotations:     "::warning title=Lockstorm%3A undecided::a under delay: exclusion by race in doubt, not declared",
	} {
		if i < len(lines) && !strings.HasPrefix(lines[i], want) {
			t.Errorf("annotation %d is\n%s\nwant\n%s", i, lines[i], want)
		}
	}
	if strings.Contains(out.String(), "declared under") {
		t.Error("a declared flaw is annotated")
	}
}

func TestTheSummaryOfAStepIsBounded(t *testing.T) {
	text := stepSummary(manyFlaws(2000))
	if n := strings.Count(text, "| **not declared** |"); n != mostSummaryRows || len(text) > 1<<17 {
		t.Errorf("%d rows, %d bytes", n, len(text))
	}
	for _, want := range []string{
		"## Lockstorm: 2002 trials of 2002 violated, on testbed sim, seed 7\n", "- fault that hit nothing: b under eviction\n",
		"|---|---|---|---|---|---|\n| **not declared** | `worst` | delay | exclusion | race | <code>lockstorm replay ", "\n1952 more: see report.md",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%.1000s", want, text)
		}
	}
}

// TestGitHubIsToldOnlyThere runs a campaign with and without the environment variables of GitHub
// Actions.
func TestGitHubIsToldOnlyThere(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "summary.md")
	for there, environment := range map[bool]map[string]string{false: nil, true: {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}} {
		code, stdout, stderr := lockstormIn(t, environment, "run", "--locks", "setnx", "--faults", "client-crash", "--named-only", "--expect", "--shrink", "0", "--store", filepath.Join(t.TempDir(), "s"))
		if code != 0 || strings.Contains(stdout+stderr, "::error") {
			t.Errorf("exit code %d, told\n%s%s", code, stdout, stderr)
		}
		if _, err := os.Stat(summary); (err == nil) != there {
			t.Errorf("there: %v; the summary: %v", there, err)
		}
		if err := os.Remove(summary); there && err != nil {
			t.Error(err)
		}
	}
}
