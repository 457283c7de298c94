package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// junitReport returns JUnit's XML with a test case per cell. A declared violation is not a failure:
// finding it is the purpose of a run. An undeclared violation is a failure. A cell that could not
// be judged is an error. A cell that was not tested is skipped. With Config.Expect, faults that hit
// nothing and declared flaws that were not found are failures, too; a doubt, or a flaw that
// undecided trials may hide, is an error. Flaws of the clients' programs (Matrix.Programs) form a
// suite of their own, after the recipes.
func junitReport(r result) ([]byte, error) {
	all := junit.Testsuites{Name: "lockstorm"}
	var total time.Duration
	recipes, _ := plots.CellAxes(r.Matrix)
	for _, recipe := range recipes {
		s := junit.Testsuite{Name: recipe, ID: len(all.Suites)}
		var spent time.Duration
		for _, c := range r.Matrix.Cells {
			if c.Lock != recipe {
				continue
			}
			took := elapsed(r.Trials, c)
			spent += took
			s.AddTestcase(junitCell(c, r, took))
		}
		if r.Info.Config.Expect {
			for _, m := range r.Matrix.Missed {
				if m.Lock == recipe {
					s.AddTestcase(junitMissed(m))
				}
			}
		}
		s.Time = junitTime(spent)
		total += spent
		all.AddSuite(s)
	}
	if len(r.Matrix.Programs) > 0 {
		s := junit.Testsuite{Name: "programs", ID: len(all.Suites), Time: junitTime(0)}
		for _, p := range r.Matrix.Programs {
			s.AddTestcase(junitProgram(p))
		}
		all.AddSuite(s)
	}
	all.Time = junitTime(total)
	b := bytes.NewBufferString(xml.Header)
	if err := all.WriteXML(b); err != nil {
		return nil, fmt.Errorf("write %s: %w", JUnitFile, err)
	}
	return b.Bytes(), nil
}

func junitMissed(m campaign.Discrepancy) junit.Testcase {
	c := junit.Testcase{Classname: "lockstorm." + m.Lock, Name: fmt.Sprintf("declared flaw: %s by %s under %s", m.Oracle, m.Cause, m.Fault), Time: "0.000"}
	if m.Hidden {
		c.Error = &junit.Result{Message: "declared, and undecided under " + m.Fault + ": " + campaign.Hiding, Type: "unknown"}
		return c
	}
	c.Failure = &junit.Result{Message: "declared, but not found under " + m.Fault, Type: "missed"}
	return c
}

// junitProgram returns the case of a flaw of the clients' program. Its time is 0, because the
// cells already have its trials. An undeclared flaw is a failure here and in the cell of the first
// trial that showed it.
func junitProgram(p campaign.ProgramFlaw) junit.Testcase {
	text := p.Words()
	if p.Declared {
		text += fmt.Sprintf("\n%s (%s)", p.Why, p.Source)
	}
	c := junit.Testcase{
		Classname: "lockstorm.programs", Name: fmt.Sprintf("%s: %s by %s", p.Workload, p.Oracle, p.Cause), Time: junitTime(0),
		SystemOut: &junit.Output{Data: printableText(text + "\n" + p.Replay)},
	}
	if !p.Declared {
		c.Failure = &junit.Result{Message: fmt.Sprintf("%s violated by %s, not declared by the workload", p.Oracle, p.Cause), Type: "violated"}
	}
	return c
}

func junitCell(c campaign.Cell, r result, took time.Duration) junit.Testcase {
	out := junit.Testcase{Classname: "lockstorm." + c.Lock, Name: c.Fault, Time: junitTime(took)}
	var lines []string
	for _, u := range r.Matrix.Unexpected {
		if u.Lock == c.Lock && u.Fault == c.Fault {
			lines = append(lines, fmt.Sprintf("%s violated by %s, not declared", u.Oracle, u.Cause))
		}
	}
	var doubt string
	for _, d := range r.Matrix.Doubtful {
		if d.Lock == c.Lock && d.Fault == c.Fault {
			doubt = d.Words()
		}
	}
	switch {
	case len(lines) > 0:
		out.Failure = &junit.Result{Message: plots.CellWords(c) + ": " + strings.Join(lines, "; "), Type: "violated", Data: printableText(strings.Join(r.failure(c), "\n"))}
	case c.Verdict == trial.Unknown:
		out.Error = &junit.Result{Message: "unknown", Type: "unknown", Data: printableText(c.Why)}
	case doubt != "" && r.Info.Config.Expect:
		out.Error = &junit.Result{Message: doubt, Type: "unknown"}
	case c.Verdict == trial.NotExercised && r.Info.Config.Expect:
		out.Failure = &junit.Result{Message: fmt.Sprintf("%s: the fault hit nothing in %d %s", plots.CellWords(c), c.Trials, wording.Plural(c.Trials, "trial")), Type: "not-exercised"}
	case c.Verdict == trial.NotExercised || c.Verdict == trial.NotSupported:
		out.Skipped = &junit.Result{Message: strings.TrimSuffix(plots.CellWords(c)+": "+wording.FirstLine(c.Why), ": ")}
	}
	text := plots.CellWords(c)
	if len(c.Causes) > 0 {
		text += " (" + strings.Join(c.Causes, ", ") + ")"
	}
	if doubt != "" {
		text += "\n" + doubt
	}
	if c.Replay != "" {
		text += "\n" + c.Replay
	}
	out.SystemOut = &junit.Output{Data: printableText(text)}
	return out
}

// failure returns the stories of a cell's undeclared flaws, each with the trial that shows the
// flaw.
func (r result) failure(c campaign.Cell) []string {
	all := r.undeclaredIn(c)
	if len(all) == 0 { // no undeclared flaw has a story of its own
		return r.Details[r.toldDir(c)].Story.Lines()
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s by %s, in %s:", s.Oracle, s.Cause, path.Join(r.Matrix.Store, s.Dir)))
		lines = append(lines, s.Detail.Story.Lines()...)
	}
	return lines
}

// printableText removes characters that XML 1.0 forbids.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0xFFFE && r != 0xFFFF {
			return r
		}
		return -1
	}, s)
}

// elapsed sums up the durations of a cell's trials.
func elapsed(trials []trial.Result, c campaign.Cell) time.Duration {
	var sum time.Duration
	for _, t := range trials {
		if t.Spec.Lock == c.Lock && t.Spec.Fault == c.Fault {
			sum += t.Elapsed
		}
	}
	return sum
}

func junitTime(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
