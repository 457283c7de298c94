package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lockstorm/lockstorm/testbed"
)

// Experiment answers a question that no single trial of lockstorm run or replay answers, by a
// measurement: a table, each of whose rows and columns says how clients use a lock, and sentences
// with figures of the table. experiments.yaml describes the fields.
type Experiment struct {
	ID, Asks, How string
	Real          bool
	OnRedis       string `yaml:"onRedis"`
	With          yaml.Node
	Columns       []struct {
		Name, Shows string
		Real        bool
		With        yaml.Node
	}
	Rows []struct {
		Cells []string
		With  yaml.Node
	}
	Says map[string]string
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
func (e Experiment) Run(ctx context.Context, tb testbed.Testbed, seed uint64) (r Result, err error) {
	defer func() {
		if err != nil {
			r, err = Result{}, fmt.Errorf("experiment %s: %w", e.ID, err)
		}
	}()
	l, used := lab{tb, seed}, map[settings][]usage{}
	for _, c := range e.Columns {
		if !c.Real || l.real() {
			r.Columns = append(r.Columns, c.Name)
		}
	}
	for _, row := range e.Rows {
		cells := slices.Clone(row.Cells)
		for _, c := range e.Columns {
			if c.Shows == "" || c.Real && !l.real() {
				continue
			}
			var s settings
			err := errors.Join(e.With.Decode(&s), row.With.Decode(&s), c.With.Decode(&s))
			if err == nil && used[s] == nil {
				used[s], err = l.runs(ctx, s)
			}
			if err != nil {
				return r, err
			}
			cells = append(cells, measures[c.Shows](used[s]))
		}
		r.Rows = append(r.Rows, cells)
	}
	r.Says = map[string]string{}
	for name, text := range e.Says {
		if r.Says[name], err = r.sentence(text); err != nil {
			return r, err
		}
	}
	// Columns without a name only serve sentences. They are the last ones.
	r.Columns = slices.DeleteFunc(r.Columns, func(name string) bool { return name == "" })
	for i := range r.Rows {
		r.Rows[i] = r.Rows[i][:len(r.Columns)]
	}
	return r, nil
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

// sentence fills in the figures of a sentence. Its functions take regular expressions for the names of
// columns, and for rows, whose cells are joined by spaces:
//   - figure returns the cell, up to a comma, a semicolon or a bracket. If there are several cells, their
//     numbers are added: "1 of 3" and "2 of 3" are "3 of 6".
//   - most returns the longest time in the cells.
//   - less returns by how many per cent the first row's time is below the second row's.
func (r Result) sentence(text string) (string, error) {
	functions := template.FuncMap{
		"figure": func(rows, column string) (string, error) {
			cells, err := r.cells(rows, column)
			return sum(cells), err
		},
		"most": func(rows, column string) (string, error) {
			cells, err := r.cells(rows, column)
			return milli(quantile(times(cells...), 1)), err
		},
		"less": func(row, than, column string) (string, error) {
			a, errRow := r.cells(row, column)
			b, errThan := r.cells(than, column)
			if err := errors.Join(errRow, errThan); err != nil {
				return "", err
			}
			return fmt.Sprintf("%.0f", 100*(1-times(a...)[0].Seconds()/times(b...)[0].Seconds())), nil
		},
	}
	var b bytes.Buffer
	t, err := template.New("sentence").Funcs(functions).Parse(text)
	if err == nil {
		err = t.Execute(&b, nil)
	}
	return b.String(), err
}

// cells returns the cells of the rows and columns that match.
func (r Result) cells(rows, column string) (found []string, err error) {
	rowMatches, columnMatches := regexp.MustCompile(rows), regexp.MustCompile(column)
	for _, row := range r.Rows {
		for i, cell := range row {
			if columnMatches.MatchString(r.Columns[i]) && rowMatches.MatchString(strings.Join(row, " ")) {
				found = append(found, cell)
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no cell of a row %q in a column %q", rows, column)
	}
	return found, nil
}

var (
	number = regexp.MustCompile(`\d+`)
	timing = regexp.MustCompile(`([\d.]+) (m?s)`)
	behind = regexp.MustCompile(`[,;].*| \(.*`)
)

// sum adds the numbers of cells, or returns the only cell up to a comma, a semicolon or a bracket.
func sum(cells []string) string {
	if len(cells) == 1 {
		return behind.ReplaceAllString(cells[0], "")
	}
	var sums []int
	for _, cell := range cells {
		for i, digits := range number.FindAllString(cell, -1) {
			n, _ := strconv.Atoi(digits) // it has nothing but digits
			if i == len(sums) {
				sums = append(sums, 0)
			}
			sums[i] += n
		}
	}
	i := -1
	return number.ReplaceAllStringFunc(cells[0], func(string) string { i++; return strconv.Itoa(sums[i]) })
}

// times returns the times in cells, as milli writes them.
func times(cells ...string) (all []time.Duration) {
	for _, found := range timing.FindAllStringSubmatch(strings.Join(cells, ", "), -1) {
		d, _ := time.ParseDuration(found[1] + found[2]) // a number and a unit
		all = append(all, d)
	}
	return all
}
