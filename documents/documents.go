// Package documents answers the five source documents D0 to D4, articles about locks on Redis, item
// by item: it says whether a document is right, and which command shows it.
//
// The items are data, in items.yaml. If a question is about a quantity, or spans several recipes, an
// experiment in experiments.yaml measures the answer. Page renders both by page.md, as
// docs/documents.md. An experiment in the simulation is a pure function of its seed, so that a test
// can compare the page's figures with a fresh run.
//
// Vocabulary: an item is a listing in a document, a scenario that the document tells, or a claim
// that it makes. A figure is a number that an experiment measures, for a cell or a sentence.
package documents

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

//go:embed items.yaml experiments.yaml page.md
var files embed.FS

// decode reads a file of the package. A file that is no data panics: tests read all files.
func decode[T any](name string) (v T) {
	data, err := files.ReadFile(name)
	if err == nil {
		in := yaml.NewDecoder(bytes.NewReader(data))
		in.KnownFields(true)
		err = in.Decode(&v)
	}
	if err != nil {
		panic(fmt.Sprint(name, ": ", err))
	}
	return v
}

// Item is one listing, scenario or claim of a document. items.yaml describes the fields.
type Item struct {
	Kind, What string
	Recipes    []string
	Shown      []Command
	Answer     string
}

// Command is a command that shows an answer.
type Command struct {
	// Line is the command line, as typed in a shell in the repository's directory.
	Line string
	// Shows are the flaws that lockstorm replay shows, such as "exclusion by race", or the names of the
	// sentences of lockstorm answer.
	Shows []string
}

// Experiment returns the id of the experiment that the command runs, and whether it runs one.
func (c Command) Experiment() (id string, ok bool) {
	return strings.CutPrefix(c.Line, "lockstorm answer ")
}

// Document is a source document with its items, in the document's order.
type Document struct {
	ID, Title string // as in locks.Documents
	Items     []Item
}

// All returns the documents in order of their ids.
var All = sync.OnceValue(func() (all []Document) {
	items := decode[map[string][]Item]("items.yaml")
	for _, d := range locks.Documents() {
		if len(items[d.ID]) > 0 {
			all = append(all, Document{d.ID, d.Title, items[d.ID]})
		}
	}
	return all
})

// Number returns the number of item i, counted from 0, as the page shows it: "D1.3".
func (d Document) Number(i int) string { return fmt.Sprint(d.ID, ".", i+1) }

// Heading returns the heading of the document's section of the page.
func (d Document) Heading() string { return d.ID + ": " + d.Title }

var noAnchor = regexp.MustCompile(`[^a-z0-9-]`)

// Anchor returns the anchor that GitHub makes of Heading.
func (d Document) Anchor() string {
	return noAnchor.ReplaceAllString(strings.ReplaceAll(strings.ToLower(d.Heading()), " ", "-"), "")
}

// Count returns the number of items of a kind.
func (d Document) Count(kind string) (n int) {
	for _, item := range d.Items {
		if item.Kind == kind {
			n++
		}
	}
	return n
}

// PageSeed is the seed of the page's experiments and of its drawn trials.
const PageSeed = 1

// Page runs all experiments on a testbed, one after another, and returns the text of docs/documents.md.
// An error means that the harness failed.
func Page(ctx context.Context, tb testbed.Testbed, seed uint64) ([]byte, error) {
	results := map[string]Result{}
	for _, e := range Experiments() {
		r, err := e.Run(ctx, tb, seed)
		if err != nil {
			return nil, err
		}
		results[e.ID] = r
	}
	return page(results)
}

// page returns the text of the page. results are the results of all experiments, by Experiment.ID.
func page(results map[string]Result) ([]byte, error) {
	var b bytes.Buffer
	t, err := template.New("page.md").Funcs(template.FuncMap{
		"documents":   All,
		"experiments": Experiments,
		"cell":        func(text string) string { return strings.ReplaceAll(text, "|", `\|`) },
		"says":        func(item Item) string { return item.says(results) },
		"table":       func(id string) string { return results[id].markdown() },
	}).ParseFS(files, "page.md")
	if err == nil {
		err = t.Execute(&b, nil)
	}
	return b.Bytes(), err
}

// says returns the answer as the page shows it: Answer, then the sentences of experiments.
func (item Item) says(results map[string]Result) string {
	text := item.Answer
	for _, c := range item.Shown {
		if id, ok := c.Experiment(); ok {
			for _, sentence := range c.Shows {
				text += " " + results[id].Says[sentence]
			}
		}
	}
	return strings.TrimSpace(text)
}
