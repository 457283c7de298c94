package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Experiment answers a question that no single trial of lockstorm run or replay answers, by a
// measurement: a table, each of whose rows and columns says how clients use a lock, and sentences
// with figures of the table. experiments.yaml describes the fields.
type Experiment struct {
	ID, Asks, How string
	Real          bool
	OnRedis       string `yaml:"onRedis"`
	With          yaml.Node
	Columns       []column
	Rows          []struct {
		Cells []string
		As    string
		With  yaml.Node
	}
	Says map[string]string
}

type column struct {
	Name, Shows, As string
	Real            bool
	With            yaml.Node
}

// Result is the result of an experiment: a table, and sentences with its figures.
type Result struct {
	Columns []string
	Rows    [][]string
	Says    map[string]string // by name, such as "faster"
}

// Experiments returns all experiments, in the order of the page.
var Experiments = sync.OnceValue(func() []Experiment { return decode[[]Experiment]("experiments.yaml") })

// ByID returns the experiment with this id, and whether there is one.
func ByID(id string) (Experiment, bool) {
	i := slices.IndexFunc(Experiments(), func(e Experiment) bool { return e.ID == id })
	if i < 0 {
		return Experiment{}, false
	}
	return Experiments()[i], true
}

// Run measures on a testbed. On virtual time, the result is a pure function of the seed. An error
// means that the harness failed.
func (e Experiment) Run(ctx context.Context, tb testbed.Testbed, seed uint64) (Result, error) {
	r, err := e.run(ctx, tb, seed)
	if err != nil {
		return Result{}, fmt.Errorf("experiment %s: %w", e.ID, err)
	}
	return r, nil
}

// cell is a measured cell of the table.
type cell struct {
	names []string // the texts and the name of its row, and those of its column
	settings
	text string
}

func (e Experiment) run(ctx context.Context, tb testbed.Testbed, seed uint64) (r Result, err error) {
	made := map[settings]figures{}
	columns := slices.DeleteFunc(slices.Clone(e.Columns), func(c column) bool { return c.Real && !trial.RealTime(tb) })
	for _, c := range columns {
		r.Columns = append(r.Columns, c.Name)
	}
	var cells []cell
	for _, row := range e.Rows {
		texts := slices.Clone(row.Cells)
		for _, c := range columns[len(texts):] {
			m := cell{names: append(slices.Clone(row.Cells), row.As, c.Name, c.As)}
			err := errors.Join(e.With.Decode(&m.settings), row.With.Decode(&m.settings), c.With.Decode(&m.settings))
			if err == nil && made[m.settings] == nil {
				made[m.settings], err = measure(ctx, tb, m.settings, seed)
			}
			if err == nil {
				m.text, err = made[m.settings].render(c.Shows, nil)
			}
			if err != nil {
				return r, err
			}
			texts, cells = append(texts, m.text), append(cells, m)
		}
		r.Rows = append(r.Rows, texts)
	}
	r.Says = map[string]string{}
	for name, text := range e.Says {
		of := func(names ...string) (figures, error) { return figuresOf(cells, made, names) }
		if r.Says[name], err = (figures{}).render(text, template.FuncMap{"of": of}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// figuresOf returns the figures of the runs behind the cells that have all these names. The figure text is the
// first cell's text.
func figuresOf(cells []cell, made map[settings]figures, names []string) (figures, error) {
	f, seen := figures{}, map[settings]bool{}
	for _, c := range cells {
		if seen[c.settings] || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(c.names, name) }) {
			continue
		}
		seen[c.settings] = true
		f.add(made[c.settings])
		f.add(figures{"text": c.text})
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("no cell has the names %q", names)
	}
	return f, nil
}

// markdown returns the table in Markdown.
func (r Result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(r.Columns, " | "), strings.Repeat("---|", len(r.Columns)))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}
