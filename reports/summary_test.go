package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// drawnCampaign draws a random campaign: small or large, with short or very long names. Every cell
// is violated.
func drawnCampaign(t *rapid.T) result {
	long := rapid.SampledFrom([]int{1, 20, 300, 70_000})
	count := rapid.SampledFrom([]int{0, 1, 3, 40})
	name := func(of string, i int) string { return fmt.Sprintf("%s-%d-", of, i) }
	locksOf, faultsOf := count.Draw(t, "locks"), rapid.SampledFrom([]int{1, 2, 21}).Draw(t, "faults")
	suffix, fault := strings.Repeat("x", long.Draw(t, "lock name")), strings.Repeat("f", long.Draw(t, "fault name"))
	text := strings.Repeat("é", long.Draw(t, "text"))
	if faultsOf*locksOf > 10 { // keep the test small
		suffix, fault, text = clip(suffix, 300), clip(fault, 300), clip(text, 300)
	}
	kind := rapid.SampledFrom([]locks.Kind{"", locks.Bug, locks.Limit})
	r := result{Details: map[string]detail{}, Glossary: testGlossary}
	r.Matrix.Store, r.Matrix.Command = strings.Repeat("s", long.Draw(t, "store")), strings.Repeat("`c", long.Draw(t, "command"))
	r.Info.Versions.Redis = strings.Repeat("v*", long.Draw(t, "version"))
	for i := range locksOf {
		for j := range faultsOf {
			f := trial.Flaw{Oracle: "exclusion", Cause: fmt.Sprintf("cause-%d", j), Kind: kind.Draw(t, "kind")}
			c := campaign.Cell{Lock: name("lock", i) + suffix, Fault: name("fault", j) + fault, Verdict: trial.Violated, Kind: f.Kind,
				Flaws: []trial.Flaw{f}, Trials: 3, Exercised: 3, Shown: 1, Violations: 1, Undecided: j % 2, UndecidedWhy: text, Dir: name("trials/dir", i*faultsOf+j)}
			r.Matrix.Cells = append(r.Matrix.Cells, c)
			x := trial.Result{Outcome: trial.Violated, Kind: f.Kind, Flaws: c.Flaws, Dir: c.Dir}
			x.Spec.Lock, x.Spec.Fault, x.Spec.Schedule = c.Lock, c.Fault, text
			r.Trials = append(r.Trials, x)
			if f.Kind == "" {
				r.Matrix.Unexpected = append(r.Matrix.Unexpected, campaign.Discrepancy{Lock: c.Lock, Fault: c.Fault, Oracle: f.Oracle, Cause: f.Cause, Dir: c.Dir})
				r.Details[c.Dir] = detail{Told: f, Story: story.Story{Steps: []story.Step{{Text: text}}, Broken: text, Prevented: []string{text}}}
			} else {
				r.Matrix.Missed = append(r.Matrix.Missed, campaign.Discrepancy{Lock: c.Lock, Fault: c.Fault, Oracle: f.Oracle, Cause: f.Cause})
			}
		}
	}
	return r
}

func TestSummaryFitsWhateverTheCampaign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnCampaign(t)
		text := string(summaryReport(r))
		if len(text) > SummarySize {
			t.Fatalf("%d bytes, want at most %d", len(text), SummarySize)
		}
		all := len(r.Matrix.Unexpected)
		if all == 0 {
			return
		}
		_, section, _ := strings.Cut(text, "\n## Not declared\n")
		section, _, _ = strings.Cut(section, "\n## ")
		listed, more := strings.Count(section, "\n- **`"), 0
		if _, rest, ok := strings.Cut(section, "\n**"); ok && strings.Contains(rest, " not declared: ") {
			if _, err := fmt.Sscanf(rest, "%d more", &more); err != nil {
				t.Fatal(err)
			}
		}
		if listed+more != all {
			t.Fatalf("%d undeclared violations listed and %d counted, want %d:\n%s", listed, more, all, clip(section, 2000))
		}
	})
}

// The matrix of report.md lists the recipes in the order of the answers, as report.html does.
func TestSummaryHasOneOrderOfRecipes(t *testing.T) {
	r := sampleResult(t)
	text := string(summaryReport(r))
	_, answers, _ := strings.Cut(text, "\n## Which lock to use\n")
	answers, matrix, _ := strings.Cut(answers, "\n## Matrix\n")
	matrix, _, _ = strings.Cut(matrix, "\n## ")
	recipes := func(text, before string) (names []string) {
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, before); ok {
				name, _, _ := strings.Cut(rest, "`")
				names = append(names, name)
			}
		}
		return names
	}
	got, want := recipes(matrix, "| `"), recipes(answers, "- `")
	if len(got) < 2 || !slices.Equal(got, want) {
		t.Errorf("the matrix has %q, the answers %q", got, want)
	}
}

// A campaign with few undeclared violations shows their full stories, before any other flaw.
func TestSummaryTellsWhatIsNotDeclaredWhole(t *testing.T) {
	r := sampleResult(t)
	c := undeclareFirst(t, r)
	f := r.Details[c.Dir].Told
	r.Matrix.Unexpected = []campaign.Discrepancy{{Lock: c.Lock, Fault: c.Fault, Oracle: f.Oracle, Cause: f.Cause, Dir: c.Dir}}
	text := string(summaryReport(r))
	if want := indented(r.Details[c.Dir].Story.Markdown()); !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant the story\n%s", text, want)
	}
	if undeclared, flaws := strings.Index(text, "## Not declared"), strings.Index(text, "## The worst flaws"); undeclared < 0 || flaws < undeclared {
		t.Errorf("undeclared violations at %d, other flaws at %d", undeclared, flaws)
	}
}

func TestSummaryHasTheWorstOfEachRecipeBeforeTheSecondOfAny(t *testing.T) {
	var recipes [][]recipeFlaw
	for i := range 30 {
		var flaws []recipeFlaw
		for j := range 30 {
			flaws = append(flaws, recipeFlaw{recipeFlawKey: recipeFlawKey{Lock: fmt.Sprintf("lock-%d", i), Cause: fmt.Sprintf("cause-%d", j)}, Oracles: []string{"exclusion"}, Faults: []string{"delay"}, Replay: "lockstorm replay"})
		}
		recipes = append(recipes, flaws)
	}
	const size = 8_000
	text := boundedPage(size, []boundedSection{flawSection(recipes)})
	if len(text) > size || len(text) < size-200 {
		t.Errorf("%d bytes, want nearly %d", len(text), size)
	}
	listed := strings.Count(text, "\n- ")
	for i := range recipes {
		_, of, ok := strings.Cut(text, fmt.Sprintf("`lock-%d`\n\n", i))
		if !ok || !strings.HasPrefix(of, "- **undeclared**: exclusion by cause-0,") {
			t.Errorf("lock-%d lacks its worst flaw", i)
		}
	}
	if want := fmt.Sprintf("\n%d more flaws: ", 900-listed); !strings.Contains(text, want) {
		t.Errorf("%d flaws are listed, and the page does not say %q", listed, want)
	}
}
