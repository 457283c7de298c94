package reports

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// alsoRenewal returns a trial with seven removals of another client's key, which the recipe
// declares, and then one renewal of another client's key, which it does not declare.
func alsoRenewal(tb testing.TB) sampleTrial {
	s := sampleOf(reporttest.Made(tb, "foreign-renewal"))
	renewal := s.Trial.Verdicts[0].Findings[0]
	var all []checker.Finding
	for i := range 7 {
		x := renewal
		x.Cause, x.Summary = checker.ForeignDelete, fmt.Sprintf("c0's DEL number %d removed c1's key", i)
		x.From, x.To = x.From-reporttest.MS(float64(70-10*i)), x.To-reporttest.MS(float64(70-10*i))
		all = append(all, x)
	}
	s.Trial.Verdicts = []checker.Verdict{reporttest.Violated("ownership", append(all, renewal)...)}
	s.Trial.Flaws = []trial.Flaw{
		{Oracle: "ownership", Cause: string(checker.ForeignDelete), Kind: locks.Bug},
		{Oracle: "ownership", Cause: string(checker.ForeignRenewal)},
	}
	return s
}

func TestWhatIsNotDeclaredIsToldFirst(t *testing.T) {
	s := alsoRenewal(t)
	f, ok := story.FocusOn(told(s.Trial, s.Evidence))
	if !ok || f.Finding.Cause != checker.ForeignRenewal {
		t.Fatalf("the story is about %s, want %s", f.Finding.Cause, checker.ForeignRenewal)
	}
	text := string(testGlossary.counterexample(s.Trial, f, "x", "", keptFiles{Timeline: true, Porcupine: true}))
	_, table, _ := strings.Cut(text, "|---|---|---|---|\n")
	first, _, _ := strings.Cut(table, "\n")
	if !strings.Contains(first, "foreign-renewal (not declared)") || !strings.Contains(table, "and 3 more") {
		t.Errorf("the verdicts begin with %q:\n%s", first, table)
	}
	if want := "\n**Not declared: ownership by foreign-renewal.**\n"; !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant %q", text, want)
	}
	if told := testGlossary.tell(s.Trial, s.Evidence, 0); !strings.Contains(told, "ownership by foreign-renewal (not declared)") {
		t.Errorf("got\n%s", told)
	}
}

// The cell's verdict is a declared bug. Another trial shows an undeclared flaw, and the pages tell
// the story of that trial.
func TestPagesTellTheTrialThatShowsWhatIsNotDeclared(t *testing.T) {
	s, bug := alsoRenewal(t), recordedSample(t, "foreign-delete")
	bug.Trial.Spec.Lock, bug.Trial.Spec.Fault = s.Trial.Spec.Lock, s.Trial.Spec.Fault
	s.Trial.Dir = strings.Replace(bug.Trial.Dir, "mutex-0", "mutex-2", 1)
	cell := cellOfTrial(bug.Trial)
	cell.Minimal, cell.Flaws = bug.Trial.Dir+"/minimal", s.Trial.Flaws
	r := result{
		Matrix: campaign.Matrix{Store: "store/demo", Cells: []campaign.Cell{cell}, Unexpected: []campaign.Discrepancy{
			{Lock: cell.Lock, Fault: cell.Fault, Oracle: "ownership", Cause: "foreign-renewal", Dir: s.Trial.Dir},
		}},
		Details: map[string]detail{}, Glossary: testGlossary,
	}
	for dir, x := range map[string]sampleTrial{s.Trial.Dir: s, bug.Trial.Dir: bug, cell.Minimal: bug} {
		f, _ := story.FocusOn(told(x.Trial, x.Evidence))
		d, err := testGlossary.detail(x.Trial, f, true)
		if err != nil {
			t.Fatal(err)
		}
		r.Details[dir] = d
	}
	text, err := junitReport(r)
	if err != nil {
		t.Fatal(err)
	}
	var got junit.Testsuites
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	const want = "an owner check on renewal"
	failure := strings.ToLower(got.Suites[0].Testcases[0].Failure.Data)
	if !strings.HasPrefix(failure, "ownership by foreign-renewal, in store/demo/"+s.Trial.Dir+":\n") || !strings.Contains(failure, want) {
		t.Errorf("JUnit: got\n%s\nwant it to be about %s", failure, s.Trial.Dir)
	}
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []struct{ name, text, trial string }{
		{"HTML", string(html), "lockstorm replay store/demo/" + s.Trial.Dir + "\n"},
		{"Markdown", string(summaryReport(r)), "(" + s.Trial.Dir + "/" + CounterexampleFile + ")"},
	} {
		text := strings.ToLower(page.text)
		if !strings.Contains(text, want) || !strings.Contains(text, page.trial) {
			t.Errorf("%s: it is not about %s", page.name, s.Trial.Dir)
		}
	}
}
