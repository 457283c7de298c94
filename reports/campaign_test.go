package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// sampleMatrix has 20 recipes, 18 faults and cells of every verdict.
func sampleMatrix(tb testing.TB) campaign.Matrix {
	recipes := []string{
		"exists-set", "getset", "lua-setnx-expire", "lua-setnx-expire-owner", "redisson", "redlock", "redlock-naive",
		"reentrant-hash", "reentrant-hash-watchdog", "reentrant-local", "rw-hash", "rw-two-keys", "set-nx-ex",
		"set-nx-ex-bounded-renewal", "set-nx-ex-get-del", "set-nx-px", "set-nx-px-watchdog", "setnx", "setnx-expire",
		"setnx-takeover-del",
	}
	m := campaign.Matrix{Schema: campaign.Schema, Seed: 7, Testbed: "process", Command: "lockstorm run --testbed process", Store: "store/demo", Cells: []campaign.Cell{}}
	for i, r := range recipes {
		for j, f := range testGlossary.Faults {
			m.Cells = append(m.Cells, sampleCell(r, f.Name, (i*5+j*3)%11))
		}
	}
	trials := sampleTrials(tb)
	for i, c := range m.Cells {
		for _, s := range trials {
			if c.Lock == s.Trial.Spec.Lock && c.Fault == s.Trial.Spec.Fault {
				m.Cells[i] = cellOfTrial(s.Trial)
			}
		}
	}
	m.Unexpected = []campaign.Discrepancy{{Lock: "set-nx-px", Fault: "none", Oracle: "exclusion", Cause: "unclassified", Dir: "trials/set-nx-px/none/mutex-0"}}
	m.Missed = []campaign.Discrepancy{{Lock: "redlock", Fault: "node-restart, failover", Oracle: "exclusion", Cause: "server-lost-key"}}
	return m
}

func sampleCell(lock, fault string, n int) campaign.Cell {
	c := campaign.Cell{
		Lock: lock, Fault: fault, Verdict: trial.Holds, Causes: []string{}, Oracles: map[string]string{"exclusion": "holds", "liveness": "holds"},
		Trials: 5, Exercised: 5, Seed: 7, Replay: fmt.Sprintf("lockstorm run --locks %s --faults %s --seed 7 --trials 1", lock, fault),
	}
	switch n {
	case 6:
		c.Verdict, c.Why, c.Trials, c.Exercised = trial.NotSupported, fault+": not supported: it cannot strike "+fault+" here", 0, 0
		c.Lack = &nemesis.Unsupported{Fault: fault, Why: nemesis.Want("it cannot strike " + fault + " here")}
	case 8:
		c.Verdict, c.Exercised = trial.NotExercised, 0
	case 10:
		c.Verdict, c.Exercised, c.Undecided, c.Why = trial.Unknown, 3, 2, "the harness stood still for 300 ms\nand more"
	}
	return c
}

func cellOfTrial(t trial.Result) campaign.Cell {
	c := sampleCell(t.Spec.Lock, t.Spec.Fault, 0)
	c.Verdict, c.Kind, c.Dir, c.Flaws, c.Violations = t.Outcome, t.Kind, t.Dir, t.Flaws, 2
	c.Shown, c.Exercised, c.Undecided, c.UndecidedWhy = 1, 4, 1, "exclusion: the harness stood still for 40 ms"
	for _, f := range t.Flaws {
		c.Causes = append(c.Causes, f.Cause)
		c.Forever = c.Forever || f.Forever
		c.Oracles[f.Oracle] = string(checker.Violated)
	}
	if c.Kind == "" {
		c.Flaws = []trial.Flaw{{Oracle: "exclusion", Cause: "unclassified"}}
	}
	return c
}

func TestMatrixIsPlainTextInAPipe(t *testing.T) {
	got := terminal(sampleMatrix(t), testGlossary, Screen{})
	reporttest.Golden(t, "matrix.txt", []byte(got))
	if strings.Contains(got, "\x1b") {
		t.Error("it has escape sequences")
	}
}

func TestInterruptedCampaignsSayHowFarTheyCame(t *testing.T) {
	r := result{Matrix: sampleMatrix(t), Glossary: testGlossary}
	r.Matrix.Interrupted, r.Matrix.Finished, r.Matrix.Planned = true, 3, 7
	all := formats(t, r)
	delete(all, "junit")
	for name, text := range all {
		before, _, ok := strings.Cut(strings.ToLower(text), "interrupted: 3 of 7 planned trials")
		if !ok || strings.Contains(before, "<section") || name == "terminal" && before != "" {
			t.Errorf("%s does not say it first", name)
		}
	}
}

func TestMatrixIsColouredOnATerminal(t *testing.T) {
	got := terminal(sampleMatrix(t), testGlossary, Screen{Color: true, Width: 80})
	reporttest.Golden(t, "matrix-colour-80.txt", []byte(got))
	if !strings.Contains(got, "\x1b[91;1mBUG\x1b[0m") {
		t.Error("bugs are not red")
	}
}

func TestMatrixFitsTheWidth(t *testing.T) {
	m := sampleMatrix(t)
	m.Interrupted, m.Finished, m.Planned, m.Shard = true, 3, 7, campaign.Shard{Index: 2, Count: 8}
	m.Programs = []campaign.ProgramFlaw{{Workload: "lottery", Oracle: "draws", Shown: 3, Trials: 4, Locks: 2, Replay: "lockstorm replay --testbed sim --lock set-nx-px --fault none --workload 'a b' --seed 1"}}
	for _, width := range []int{60, 80, 100, 125} {
		for line := range strings.Lines(terminal(m, testGlossary, Screen{Width: width})) {
			line = strings.TrimRight(line, "\n")
			if n := len([]rune(line)); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
	}
}

func TestCommandsBeginWithTheProgramAsItWasCalled(t *testing.T) {
	m := sampleMatrix(t)
	m.Programs = []campaign.ProgramFlaw{{Workload: "lottery", Shown: 3, Trials: 4, Replay: "lockstorm replay --lock a --workload 'a b'"}}
	for width, want := range map[int]string{
		0:  ": bin/lockstorm replay --lock a --workload 'a b'\n",
		40: "\n  bin/lockstorm replay --lock a \\\n    --workload 'a b'\n",
	} {
		if got := terminal(m, testGlossary, Screen{Width: width, Program: "bin/lockstorm"}); !strings.Contains(got, want) {
			t.Errorf("at %d columns it lacks %q:\n%s", width, want, got[max(0, len(got)-300):])
		}
	}
}

func TestNobodyIsCalledSafe(t *testing.T) {
	r := sampleResult(t)
	var all bytes.Buffer
	all.WriteString(terminal(r.Matrix, testGlossary, Screen{}))
	for _, s := range sampleTrials(t) {
		f, _ := story.FocusOn(told(s.Trial, s.Evidence))
		all.Write(testGlossary.counterexample(s.Trial, f, "store/"+s.Trial.Dir, "", keptFiles{Timeline: true, Porcupine: true}))
	}
	for _, x := range newView(r, nil).Answers {
		all.WriteString(x.Advice.Label() + " " + x.Advice.Words() + "\n")
	}
	if found := regexp.MustCompile(`(?i).*\b(safe|proven|correct)\b.*`).FindString(all.String()); found != "" {
		t.Errorf("somebody is called so: %s", found)
	}
}

func TestHeadingsAreWholeWordsOrCutShort(t *testing.T) {
	for fault, want := range map[string]string{
		"none": "none", "partition": "part.", "partition-requests": "part. requests", "node-restart": "node restart", "failover": "failover", "split-brain": "split brain",
	} {
		if got := strings.ReplaceAll(heading(fault), "\n", " "); got != want {
			t.Errorf("the heading of %s is %q, want %q", fault, got, want)
		}
	}
}
