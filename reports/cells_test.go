package reports

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// madeUp returns a campaign of three cells: fencing tokens that regressed, a fault that hit nothing,
// and a cell without a violation, in which 20 of 50 trials are named schedules.
func madeUp(expect bool) result {
	fenced := sampleCell("fenced", "failover", 0)
	fenced.Verdict, fenced.Kind, fenced.Shown, fenced.Violations = trial.Violated, "limit", 2, 2
	fenced.Causes, fenced.Oracles["fencing"] = []string{"fence-regressed"}, "violated"
	fenced.Flaws = []trial.Flaw{{Oracle: "fencing", Cause: "fence-regressed", Kind: "limit"}}
	idle := sampleCell("fenced", "eviction", 8)
	quiet := sampleCell("fenced", "delay", 0)
	quiet.Trials, quiet.Exercised, quiet.Enumerated = 50, 50, 20
	r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: []campaign.Cell{fenced, idle, quiet}}}
	r.Info.Config.Expect = expect
	return r
}

// formats renders a campaign as HTML, as Markdown, as JUnit's XML and for a terminal.
func formats(t *testing.T, r result) map[string]string {
	t.Helper()
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	suites, err := junitReport(r)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"html": string(html), "md": string(summaryReport(r)), "junit": string(suites),
		"terminal": terminal(r.Matrix, r.Glossary, Screen{}),
	}
}

func TestEveryFormShowsFencesAndFaultsThatHitNothing(t *testing.T) {
	for _, c := range []struct {
		format string
		expect bool
		want   []string
	}{
		{"html", false, []string{
			`<td class="limit"><a href="#fenced--failover" title="violated: limit: fence-regressed">limit <small>2/5</small></a>`,
			`<li>fencing by <b>fence-regressed</b> (limit): `, `<tr><td>fencing</td><td>`,
			`<td class="idle"><button type="button" value="fenced--eviction" title="fault not exercised">–</button>`, `<h3>Fault not exercised</h3>` + "\n" + `<ul class="reasons"><li>eviction: fenced</li></ul>`,
			`<span class="badge idle">–</span> fault not exercised <b>1</b>`,
			`title="no violation in 50 trials (95 % bound: at most 9.5 % of trials)"`, `Named schedules are enumerated, not drawn`,
		}},
		{"md", false, []string{
			"| limit 2/5 | – | 0/50 |", "## Fault not exercised\n\n- eviction: fenced\n", "- fault not exercised: 1 cell\n",
		}},
		{"terminal", false, []string{"limit", "fault not exercised: eviction: fenced\n", "– the fault hit nothing", "0/50", "named schedules and trials of the corpus do not count"}},
		{"junit", false, []string{`failures="0" errors="0" id="0" skipped="1"`, `<skipped message="fault not exercised"></skipped>`, "violated: limit (fence-regressed)"}},
		{"junit", true, []string{`failures="1" errors="0" id="0" time=`, `<failure message="fault not exercised: the fault hit nothing in 5 trials" type="not-exercised">`}},
	} {
		text := formats(t, madeUp(c.expect))[c.format]
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s, expect %v: it lacks %q", c.format, c.expect, want)
			}
		}
	}
}

func TestNoBoundIsPromisedOfEnumeratedTrialsAlone(t *testing.T) {
	r := madeUp(false)
	for i := range r.Matrix.Cells {
		r.Matrix.Cells[i].Enumerated = r.Matrix.Cells[i].Exercised
	}
	if text := formats(t, r)["terminal"]; strings.Contains(text, "bound") {
		t.Errorf("the terminal speaks of a bound:\n%s", text)
	}
}

// A block that is a declared bug must not look like the price of a lease: its mark, its words and
// its count differ from those of a block that is a limit.
func TestABlockThatIsABugIsToldFromOneThatIsALimit(t *testing.T) {
	block := func(fault, kind string, forever bool) campaign.Cell {
		c := sampleCell("own", fault, 0)
		c.Verdict, c.Kind, c.Forever, c.Shown, c.Violations = trial.Blocked, locks.Kind(kind), forever, 1, 1
		c.Flaws, c.Causes = []trial.Flaw{{Oracle: "liveness", Cause: "orphaned-key", Kind: c.Kind, Forever: forever}}, []string{"orphaned-key"}
		return c
	}
	r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: []campaign.Cell{
		block("client-crash", "limit", false), block("lost-reply", "bug", false), block("delay", "bug", false),
		block("hung-work", "limit", true), block("reset", "bug", true),
	}}}
	all := formats(t, r)
	for format, want := range map[string][]string{
		"html": {
			`<td class="ttl">`, `>ttl <small>`, `<td class="ttlbug">`, `>ttl bug <small>`, `>block <small>`, `>block bug <small>`,
			`<span class="badge ttl">ttl</span> blocked up to TTL <b>1</b>`, `<span class="badge ttlbug">ttl bug</span> blocked up to TTL: bug <b>2</b>`,
			`<span class="badge block">block</span> blocked for ever <b>1</b>`, `<span class="badge blockbug">block bug</span> blocked for ever: bug <b>1</b>`,
		},
		"md":       {" **TTL BUG** ", " ttl ", " **BLOCK BUG** ", " **BLOCK** ", "- blocked up to TTL: bug: 2 cells\n", "- blocked up to TTL: 1 cell\n", "- blocked for ever: bug: 1 cell\n"},
		"terminal": {" ttl* ", " ttl ", " BLOCK ", " BLOCK*", "ttl* blocked up to the lease time: a bug of the recipe", "BLOCK* blocked for ever: a bug of the recipe"},
		"junit":    {"blocked up to TTL: bug (orphaned-key)"},
	} {
		for _, w := range want {
			if !strings.Contains(all[format], w) {
				t.Errorf("%s: it lacks %q", format, w)
			}
		}
	}
}
