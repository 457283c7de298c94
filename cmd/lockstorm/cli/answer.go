package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/documents"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
)

type answerFlags struct {
	testbed string
	seed    uint64
	json    bool
	page    string
}

func answerCommand(a *app) *cobra.Command {
	var f answerFlags
	cmd := &cobra.Command{
		Use:   "answer [ID]",
		Short: "Measure what a source document claims; without ID, list what can be asked",
		Long: `Answer runs one experiment and prints its table: a question that a source
document raises and that no single trial answers. Without ID it lists the
experiments. In the simulation the same seed gives the same figures, on any
machine. With --page it runs them all and writes the page of the documents: every
listing, scenario and claim of theirs with its answer.`,
		Example: `  lockstorm answer
  lockstorm answer getset-loser
  lockstorm answer polling --testbed process`,
		Args: expectArgs(0, 1, "the id of one experiment, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.page != "" && len(args) > 0:
				return input.Errorf("--page %s: the page has all experiments; expected no id, got %s", f.page, args[0])
			case f.page != "":
				return a.documentsPage(cmd.Context(), f)
			case len(args) == 0:
				return a.listExperiments(f.json)
			}
			return a.answer(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.testbed, "testbed", a.testbeds[0].Name, "where Redis comes from")
	cmd.Flags().Uint64Var(&f.seed, "seed", documents.PageSeed, "seed of the experiment")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&f.page, "page", "", "file to write the page of the documents to, in Markdown")
	return cmd
}

func (a *app) listExperiments(asJSON bool) error {
	l := listing{columns: []string{"id", "question", "on real Redis"}}
	var rows [][]string
	for _, e := range documents.Experiments() {
		onRedis := ""
		if e.Real {
			onRedis = "yes"
		}
		rows = append(rows, []string{e.ID, e.Asks, onRedis})
	}
	l.rows = func(*app) [][]string { return rows }
	return a.list(l, asJSON)
}

// answer runs one experiment and prints its result.
func (a *app) answer(ctx context.Context, id string, f answerFlags) error {
	e, ok := documents.ByID(id)
	if !ok {
		var ids []string
		for _, e := range documents.Experiments() {
			ids = append(ids, e.ID)
		}
		return input.Errorf("unknown experiment %q: did you mean %s? (lockstorm answer)", id, campaign.Nearest(id, ids))
	}
	var result documents.Result
	err := a.onTestbed(ctx, f.testbed, func(choice testbedChoice, tb testbed.Testbed) (err error) {
		if !choice.Virtual && !e.Real {
			return input.Errorf("--testbed %s: %s runs in the simulation only; expected %s", choice.Name, id, a.testbeds[0].Name)
		}
		result, err = e.Run(ctx, tb, f.seed)
		return err
	})
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(a.stdout, result)
	}
	a.say(a.stdout, "%s", plainText(e.Asks))
	a.say(a.stdout, "%s", plainText(e.How))
	fmt.Fprintf(a.stdout, "\n%s\n\n", fittedTable(result.Columns, result.Rows, a.width(a.stdout)))
	for _, figure := range slices.Sorted(maps.Keys(result.Says)) {
		a.say(a.stdout, "%s", plainText(result.Says[figure]))
	}
	return nil
}

// emphasis matches a text in Markdown's emphasis, such as "*Hung*".
var emphasis = regexp.MustCompile(`\*(\pL[^*]*)\*`)

// plainText removes Markdown's emphasis marks: documents pages render them, a terminal does not.
func plainText(s string) string { return emphasis.ReplaceAllString(s, "$1") }

// onTestbed opens a testbed, calls do, and closes the testbed.
func (a *app) onTestbed(ctx context.Context, name string, do func(testbedChoice, testbed.Testbed) error) error {
	choice, err := a.testbeds.choice(name)
	if err != nil {
		return err
	}
	tb, done, err := choice.open(ctx, testbedFlags{})
	if err != nil {
		return err
	}
	return afterClosing(do(choice, tb), done()) // even if closing the testbed fails, the result is reported
}

// documentsPage writes the documents page to the file f.page.
func (a *app) documentsPage(ctx context.Context, f answerFlags) error {
	return a.onTestbed(ctx, f.testbed, func(choice testbedChoice, tb testbed.Testbed) error {
		if !choice.Virtual {
			return input.Errorf("--page: figures of testbed %s differ from run to run; expected %s", choice.Name, a.testbeds[0].Name)
		}
		page, err := documents.Page(ctx, tb, f.seed)
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.page, page, 0o644); err != nil {
			return input.Errorf("--page: %w", err)
		}
		return nil
	})
}

// afterClosing returns the error of a command whose testbed has been closed. An error of closing
// replaces an exit code, and is joined to any other error.
func afterClosing(err, closing error) error {
	var code exit
	if closing != nil && errors.As(err, &code) {
		return closing
	}
	return testbed.JoinErrors(err, closing)
}
