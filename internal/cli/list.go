package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// listing is one registry as a table.
type listing struct {
	name    string
	columns []string // also the names in JSON
	rows    func(a *app) [][]string
	width   int // width of the table if there is no terminal; 0 = unlimited
}

const pageWidth = 120

var listings = []listing{
	{"locks", []string{"id", "document", "topology", "summary", "flaws"}, func(*app) (rows [][]string) {
		for _, r := range locks.All() {
			rows = append(rows, []string{r.ID, r.Document, string(r.Topology), r.Summary, flaws(r)})
		}
		return rows
	}, 0},
	{"documents", []string{"id", "title", "describes"}, func(*app) (rows [][]string) {
		for _, d := range locks.Documents() {
			rows = append(rows, []string{d.ID, d.Title, d.Gives})
		}
		return rows
	}, 0},
	{"faults", []string{"name", "what", "needs"}, func(*app) (rows [][]string) {
		for _, f := range nemesis.All() {
			rows = append(rows, []string{f.Name, f.Doc, strings.Join(capabilities(f), ", ")})
		}
		return rows
	}, 0},
	{"workloads", []string{"name", "what"}, func(*app) (rows [][]string) {
		for _, w := range workloads.All() {
			rows = append(rows, []string{w.Name, w.Doc})
		}
		return rows
	}, 0},
	{"oracles", []string{"name", "property"}, func(*app) (rows [][]string) {
		for _, o := range checker.Oracles() {
			rows = append(rows, []string{o.Name, o.Doc})
		}
		return rows
	}, 0},
	{"causes", []string{"name", "what happened", "assumption that broke"}, func(*app) (rows [][]string) {
		for _, c := range checker.Causes() {
			rows = append(rows, []string{string(c), c.Meaning(), c.Assumption()})
		}
		return rows
	}, 0},
	{"testbeds", []string{"name", "what", "topologies", "disturbs", "note"}, func(a *app) (rows [][]string) {
		for _, t := range a.testbeds {
			rows = append(rows, t.row())
		}
		return rows
	}, pageWidth},
}

func listingNames() []string {
	var names []string
	for _, l := range listings {
		names = append(names, l.name)
	}
	return names
}

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "list " + strings.Join(listingNames(), "|"),
		Short:     "List locks, documents, faults, workloads, oracles, causes or testbeds",
		ValidArgs: listingNames(),
		Args:      expectArgs(1, 1, "one of "+strings.Join(listingNames(), ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.IndexFunc(listings, func(l listing) bool { return l.name == args[0] })
			if i < 0 {
				return input.Errorf("lockstorm list %q: expected one of %s", args[0], strings.Join(listingNames(), ", "))
			}
			return a.list(listings[i], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) list(l listing, asJSON bool) error {
	rows := l.rows(a)
	if asJSON {
		objects := make([]map[string]string, len(rows))
		for i, row := range rows {
			objects[i] = map[string]string{}
			for j, c := range l.columns {
				objects[i][c] = row[j]
			}
		}
		return printJSON(a.stdout, objects)
	}
	width := terminalWidth(a.stdout)
	if width == 0 {
		width = l.width
	}
	fmt.Fprintln(a.stdout, l.table(rows, width))
	return nil
}

// told drops the columns that are empty in every row.
func told(columns []string, rows [][]string) (names []string, cells [][]string) {
	cells = make([][]string, len(rows))
	for j, c := range columns {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[j] != "" }) {
			names = append(names, c)
			for i, row := range rows {
				cells[i] = append(cells[i], row[j])
			}
		}
	}
	return names, cells
}

// table renders rows for a terminal of that width; 0 is unlimited. It drops empty columns.
func (l listing) table(rows [][]string, width int) string {
	columns, rows := told(l.columns, rows)
	t := plainTable(columns...)
	t.SetColumnConfigs(fitted(columns, rows, width))
	for _, row := range rows {
		var cells table.Row
		for _, c := range row {
			cells = append(cells, c)
		}
		t.AppendRow(cells)
	}
	return t.Render()
}

// terminalWidth returns the width of the terminal w; 0 if w is no terminal.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// widestColumn and narrowestColumn bound a column of text.
const (
	widestColumn    = 64
	narrowestColumn = 12
)

// fitted narrows columns, the widest first, until they fit the terminal's width, if
// possible. Width 0 is unlimited.
func fitted(columns []string, rows [][]string, width int) []table.ColumnConfig {
	widths := make([]int, len(columns))
	total := 0
	for i, c := range columns {
		widths[i] = text.StringWidth(c)
		for _, row := range rows {
			widths[i] = max(widths[i], text.LongestLineLen(row[i]))
		}
		widths[i] = min(widths[i], widestColumn)
		total += widths[i] + 2 // the space between two columns
	}
	for ; width > 0 && total > width; total-- {
		w := slices.Index(widths, slices.Max(widths))
		if widths[w] <= narrowestColumn {
			break
		}
		widths[w]--
	}
	var configs []table.ColumnConfig
	for i, w := range widths {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: w, WidthMaxEnforcer: wrapLines})
	}
	return configs
}

// wrapLines wraps each line of a text separately: existing line breaks stay.
func wrapLines(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = text.WrapSoft(line, width)
	}
	return strings.Join(lines, "\n")
}

// flaws lists the flaws that a recipe declares: for each kind the causes, each with the
// faults under which it must be found and, in brackets, those under which it may be.
func flaws(r locks.Recipe) string {
	var lines []string
	for _, kind := range []locks.Kind{locks.Bug, locks.Limit} {
		var causes []string
		must, may := map[string][]string{}, map[string][]string{}
		for _, f := range r.Flaws {
			if f.Kind != kind {
				continue
			}
			if !slices.Contains(causes, f.Cause) {
				causes = append(causes, f.Cause)
			}
			must[f.Cause] = append(must[f.Cause], f.Faults...)
			may[f.Cause] = append(may[f.Cause], f.Also...)
		}
		for _, cause := range causes {
			lines = append(lines, fmt.Sprintf("%s: %s under %s", kind, cause, under(must[cause], may[cause])))
		}
	}
	return strings.Join(lines, "\n")
}

// under lists faults, each once: those in must, then in brackets those only in may.
func under(must, may []string) string {
	var words, more []string
	for _, fault := range must {
		if !slices.Contains(words, fault) {
			words = append(words, fault)
		}
	}
	for _, fault := range may {
		if !slices.Contains(words, fault) && !slices.Contains(more, fault) {
			more = append(more, fault)
		}
	}
	text := strings.Join(words, ", ")
	if len(more) > 0 {
		text = strings.TrimLeft(text+" ("+strings.Join(more, ", ")+")", " ")
	}
	return text
}

// plainTable returns a table with only columns and a line below the header: it reads the
// same on a terminal and in a pipe.
func plainTable(columns ...string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	style := t.Style()
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	var header table.Row
	var configs []table.ColumnConfig
	for i, c := range columns {
		header = append(header, c)
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: widestColumn, WidthMaxEnforcer: wrapLines})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	t.SuppressTrailingSpaces()
	return t
}

// capabilities names what a fault needs of a testbed.
func capabilities(f nemesis.Fault) []string {
	names := make([]string, len(f.Needs))
	for i, c := range f.Needs {
		names[i] = string(c)
	}
	return names
}
