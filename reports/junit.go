package reports

import (
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// These types are the elements of JUnit's XML that CI systems read.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// junit returns JUnit's XML with a test case per cell. A declared violation is not a failure:
// finding it is the purpose of a run. An undeclared violation is a failure. A cell that could not
// be judged is an error. A cell that was not tested is skipped. With Config.Expect, faults that hit
// nothing and declared flaws that were not found are failures, too; a doubt, or a flaw that
// undecided trials may hide, is an error. Flaws of the clients' programs (Matrix.Programs) form a
// suite of their own, after the recipes.
func junit(r result) ([]byte, error) {
	all := junitSuites{Name: "lockstorm"}
	var total time.Duration
	recipes, _ := plots.CellAxes(r.Matrix)
	for _, recipe := range recipes {
		s := junitSuite{Name: recipe}
		var spent time.Duration
		for _, c := range r.Matrix.Cells {
			if c.Lock != recipe {
				continue
			}
			took := elapsed(r.Trials, c)
			spent += took
			s.add(junitCell(c, r, took))
		}
		if r.Info.Config.Expect {
			for _, m := range r.Matrix.Missed {
				if m.Lock == recipe {
					s.add(junitMissed(m))
				}
			}
		}
		s.Time = junitTime(spent)
		total += spent
		all.add(s)
	}
	if len(r.Matrix.Programs) > 0 {
		s := junitSuite{Name: "programs", Time: junitTime(0)}
		for _, p := range r.Matrix.Programs {
			s.add(junitProgram(p))
		}
		all.add(s)
	}
	all.Time = junitTime(total)
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", JUnitFile, err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func (a *junitSuites) add(s junitSuite) {
	a.Suites = append(a.Suites, s)
	a.Tests, a.Failures, a.Errors, a.Skipped = a.Tests+s.Tests, a.Failures+s.Failures, a.Errors+s.Errors, a.Skipped+s.Skipped
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitMissed(m campaign.Discrepancy) junitCase {
	c := junitCase{Class: "lockstorm." + m.Lock, Name: fmt.Sprintf("declared flaw: %s by %s under %s", m.Oracle, m.Cause, m.Fault), Time: "0.000"}
	if m.Hidden {
		c.Error = &junitMessage{Message: "declared, and undecided under " + m.Fault + ": " + campaign.Hiding, Type: "unknown"}
		return c
	}
	c.Failure = &junitMessage{Message: "declared, but not found under " + m.Fault, Type: "missed"}
	return c
}

// junitProgram returns the case of a flaw of the clients' program. Its time is 0, because the
// cells already have its trials. An undeclared flaw is a failure here and in the cell of the first
// trial that showed it.
func junitProgram(p campaign.ProgramFlaw) junitCase {
	text := p.Words()
	if p.Declared {
		text += fmt.Sprintf("\n%s (%s)", p.Why, p.Source)
	}
	c := junitCase{
		Class: "lockstorm.programs", Name: fmt.Sprintf("%s: %s by %s", p.Workload, p.Oracle, p.Cause), Time: junitTime(0),
		Out: printableText(text + "\n" + p.Replay),
	}
	if !p.Declared {
		c.Failure = &junitMessage{Message: fmt.Sprintf("%s violated by %s, not declared by the workload", p.Oracle, p.Cause), Type: "violated"}
	}
	return c
}

func junitCell(c campaign.Cell, r result, took time.Duration) junitCase {
	out := junitCase{Class: "lockstorm." + c.Lock, Name: c.Fault, Time: junitTime(took)}
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
		out.Failure = &junitMessage{Message: plots.CellWords(c) + ": " + strings.Join(lines, "; "), Type: "violated", Text: printableText(strings.Join(r.failure(c), "\n"))}
	case c.Verdict == trial.Unknown:
		out.Error = &junitMessage{Message: "unknown", Type: "unknown", Text: printableText(c.Why)}
	case doubt != "" && r.Info.Config.Expect:
		out.Error = &junitMessage{Message: doubt, Type: "unknown"}
	case c.Verdict == trial.NotExercised && r.Info.Config.Expect:
		out.Failure = &junitMessage{Message: fmt.Sprintf("%s: the fault hit nothing in %d %s", plots.CellWords(c), c.Trials, wording.Plural(c.Trials, "trial")), Type: "not-exercised"}
	case c.Verdict == trial.NotExercised || c.Verdict == trial.NotSupported:
		out.Skipped = &junitMessage{Message: strings.TrimSuffix(plots.CellWords(c)+": "+wording.FirstLine(c.Why), ": ")}
	}
	text := plots.CellWords(c)
	if len(c.Causes) > 0 {
		causes := slices.Clone(c.Causes)
		text += " (" + strings.Join(causes, ", ") + ")"
	}
	if doubt != "" {
		text += "\n" + doubt
	}
	if c.Replay != "" {
		text += "\n" + c.Replay
	}
	out.Out = printableText(text)
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
