package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

func TestProgressWithoutATerminalIsAPlainLineNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := app{output: output{stderr: &out}}
		p := a.newProgress(normal)
		for done := 1; done <= 4; done++ {
			time.Sleep(10 * time.Second)
			p.show(campaign.Progress{Done: done, Total: 10, Violations: done / 2, Failed: done / 4, Virtual: time.Duration(done) * 3 * time.Second})
		}
		p.end()
		want := "2 of 10 trials: 1 violated, 1m20s left, 0.1 trials/s, 0.3 virtual s/s\n" +
			"4 of 10 trials: 2 violated, 1 failed, 1m0s left, 0.1 trials/s, 0.3 virtual s/s\n"
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	})
}

func TestViolationsAreToldOnceWithTheirStories(t *testing.T) {
	ended := func(lock, fault, cause string, kind locks.Kind) campaign.Progress {
		return campaign.Progress{Trial: &trial.Result{
			Spec:     trial.Spec{Lock: lock, Fault: fault, Workload: "mutex", Trial: 1},
			Outcome:  trial.Violated,
			Flaws:    []trial.Flaw{{Oracle: "exclusion", Cause: cause, Kind: kind}},
			Verdicts: []checker.Verdict{{Oracle: "exclusion", Findings: []checker.Finding{{Cause: checker.Cause(cause), Summary: "c1 and c2 both got it"}}}},
		}}
	}
	trials := []campaign.Progress{
		ended("a", "delay", "race", locks.Bug), ended("a", "reset", "race", locks.Bug), // a declared flaw is printed once for the lock
		ended("b", "delay", "race", ""), ended("b", "reset", "race", ""), ended("b", "reset", "race", ""), // an undeclared flaw is printed once for each cell
		{Done: 1},
	}
	declared := "bug: a under delay: exclusion by race: c1 and c2 both got it"
	others := []string{"NEW: b under delay: exclusion by race: c1 and c2 both got it", "NEW: b under reset: exclusion by race: c1 and c2 both got it"}
	each := func(where string) string { return where + ", mutex, trial 1: violated" }
	for name, test := range map[string]struct {
		volume volume
		bar    bool
		want   []string
	}{
		"a pipe":     {normal, false, others},
		"a terminal": {normal, true, slices.Concat([]string{declared}, others)},
		"quiet":      {quiet, true, nil},
		"verbose": {verbose, false, []string{
			each("a under delay"), declared, each("a under reset"), each("b under delay"), others[0], each("b under reset"), others[1], each("b under reset"),
		}},
	} {
		a := app{output: output{stderr: new(bytes.Buffer)}}
		p := a.newProgress(test.volume)
		if test.bar {
			p.bar = progressbar.NewOptions(1)
		}
		var got []string
		for _, s := range trials {
			got = append(got, p.news(s)...)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestTheLineOfTheBarFitsTheTerminal: the least important text is left out first.
func TestTheLineOfTheBarFitsTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for width, want := range map[int]string{
			60:  "55 violated, 10s left",
			80:  "55 violated, 10s left, 90 trials/s",
			120: "55 violated, 10s left, 90 trials/s, 180 virtual s/s",
		} {
			a := app{output: output{stderr: new(bytes.Buffer)}}
			p := a.newProgress(normal)
			p.width = width
			time.Sleep(10 * time.Second)
			if got := p.beside(campaign.Progress{Done: 900, Total: 1800, Violations: 55, Virtual: 1800 * time.Second}); got != want {
				t.Errorf("at %d columns: got %q, want %q", width, got, want)
			}
		}
	})
}
