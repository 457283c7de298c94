package documents

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/testbed"
)

// Experiment answers a question that no single trial of lockstorm run or replay answers, by a
// measurement.
type Experiment struct {
	ID   string // "getset-loser"
	Asks string // the question, in one sentence
	// How describes the procedure, in sentences. Durations are on the trial's clock.
	How string
	// Real says that the experiment also runs on testbeds on real time. There its figures differ
	// from run to run.
	Real bool
	// OnRedis describes in sentences the results of runs on real servers, with their command; "" =
	// there were none. No test compares these figures with a fresh run.
	OnRedis string
	run     func(context.Context, lab) (Result, error)
}

// Result is the result of an experiment: a table, and sentences with its figures.
type Result struct {
	Columns []string
	Rows    [][]string
	// Says holds the sentences by name, such as "faster". Measured.Figure is such a name.
	Says map[string]string
}

// experiments are all experiments, in the order of the page.
var experiments = []Experiment{
	tolerance, renewal, unique, getsetLoser, clocks, oneScript, polling, patience, libraries, readWriteTable,
}

// Experiments returns all experiments, in the order of the page.
func Experiments() []Experiment { return slices.Clone(experiments) }

// ByID returns the experiment with this id, and whether there is one.
func ByID(id string) (Experiment, bool) {
	i := slices.IndexFunc(experiments, func(e Experiment) bool { return e.ID == id })
	if i < 0 {
		return Experiment{}, false
	}
	return experiments[i], true
}

// Run measures on a testbed. On virtual time, the result is a pure function of the seed. An error
// means that the harness failed.
func (e Experiment) Run(ctx context.Context, tb testbed.Testbed, seed uint64) (Result, error) {
	r, err := e.run(ctx, lab{tb, seed})
	if err != nil {
		return Result{}, fmt.Errorf("experiment %s: %w", e.ID, err)
	}
	return r, nil
}

// row adds a row of cells to the table; each cell is printed with %v.
func (r *Result) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	r.Rows = append(r.Rows, texts)
}

// says adds a sentence to r.Says. figure is the sentence's name, such as "faster"; format and args
// make its text.
func (r *Result) says(figure, format string, args ...any) {
	if r.Says == nil {
		r.Says = map[string]string{}
	}
	r.Says[figure] = fmt.Sprintf(format, args...)
}
