package documents

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/testbed"
)

// PageSeed is the seed of the page's experiments and of its drawn trials.
const PageSeed = 1

// Answers runs all experiments on a testbed, one after another. The map has their results by
// Experiment.ID. An error means that the harness failed.
func Answers(ctx context.Context, tb testbed.Testbed, seed uint64) (map[string]Result, error) {
	results := map[string]Result{}
	for _, e := range experiments {
		r, err := e.Run(ctx, tb, seed)
		if err != nil {
			return nil, err
		}
		results[e.ID] = r
	}
	return results, nil
}

const pageIntro = `# The documents, item by item

Lockstorm's recipes come from five articles about locks on Redis. This page lists, document by
document and in the document's order, every *listing* (code or commands), every *scenario* (what
the document says can happen) and every *claim* (what it asserts), with the recipes that it
concerns, a command that shows the answer, and the answer.

A ` + "`lockstorm replay`" + ` line runs one trial in the simulation: the same on any machine. A
` + "`lockstorm answer`" + ` line prints the table of an [experiment](#the-experiments). A
` + "`go test`" + ` line runs on real redis-servers, unless it is about no server, and a
` + "`lockstorm run`" + ` line where the simulation lacks what it takes. A test runs every replay line and
compares what it shows with this page, which ` + "`make docs`" + ` makes anew.

`

// Page returns the text of docs/documents.md. results are the results of all experiments by id, as
// Answers returns them.
func Page(results map[string]Result) []byte {
	var b bytes.Buffer
	b.WriteString(pageIntro)
	b.WriteString("| document | listings | scenarios | claims |\n|---|--:|--:|--:|\n")
	for _, d := range All() {
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | %d |\n", d.heading(), anchor(d.heading()), d.count(Listing), d.count(Scenario), d.count(Claim))
	}
	for _, d := range All() {
		fmt.Fprintf(&b, "\n## %s\n\n| | kind | what the document has | recipes | shown by | answer |\n|---|---|---|---|---|---|\n", d.heading())
		for i, item := range d.Items {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", d.Number(i), item.Kind, cell(item.What), item.recipeLinks(), item.lines(), cell(item.Says(results)))
		}
	}
	b.WriteString("\n## The experiments\n\nEach prints its table by `lockstorm answer`, in the simulation with seed 1 unless flags say otherwise.\n")
	for _, e := range experiments {
		fmt.Fprintf(&b, "\n### %s\n\n%s %s\n\n", e.ID, e.Asks, e.How)
		writeTable(&b, results[e.ID])
		if e.OnRedis != "" {
			fmt.Fprintf(&b, "\n%s\n", e.OnRedis)
		}
	}
	return b.Bytes()
}

func (d Document) heading() string { return d.ID + ": " + d.Title() }

// anchor returns the anchor that GitHub makes of a heading.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (d Document) count(k Kind) (n int) {
	for _, item := range d.Items {
		if item.Kind == k {
			n++
		}
	}
	return n
}

// Says returns the answer as the page shows it: the sentences of Answer, then the sentences of the
// Measured commands, taken from results.
func (item Item) Says(results map[string]Result) string {
	var sentences []string
	if item.Answer != "" {
		sentences = append(sentences, item.Answer)
	}
	for _, c := range item.Shown {
		if m, ok := c.(Measured); ok {
			sentences = append(sentences, results[m.Experiment].Says[m.Figure])
		}
	}
	return strings.Join(sentences, " ")
}

func (item Item) recipeLinks() string {
	links := make([]string, len(item.Recipes))
	for i, id := range item.Recipes {
		links[i] = fmt.Sprintf("[%s](recipes.md#%s)", id, id)
	}
	if len(links) == 0 {
		return "–"
	}
	return strings.Join(links, ", ")
}

// lines lists the item's commands, each once.
func (item Item) lines() string {
	var lines []string
	for _, c := range item.Shown {
		if line := "`" + cell(c.Line()) + "`"; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "<br>")
}

// cell escapes a text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func writeTable(b *bytes.Buffer, r Result) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(r.Columns, " | "), strings.Repeat("---|", len(r.Columns)))
	for _, row := range r.Rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}
