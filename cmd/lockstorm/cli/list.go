package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/workloads"
)

// listing renders one registry as a table.
type listing struct {
	name    string
	columns []string // also the keys in JSON
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
	{"remedies", []string{"name", "what it does in the simulation", "measure"}, func(*app) (rows [][]string) {
		for _, r := range remedy.All() {
			rows = append(rows, []string{r.Name, r.Does, r.Measure})
		}
		return rows
	}, pageWidth},
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

func listCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(listingNames(), "|"),
		Short: "List locks, documents, faults, workloads, oracles, causes, remedies or testbeds",
		Example: `  lockstorm list locks
  lockstorm list faults --json`,
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
	width := a.width(a.stdout)
	if width == 0 {
		width = l.width
	}
	fmt.Fprintln(a.stdout, l.table(rows, width))
	return nil
}

// told removes the columns that are empty in every row.
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

// table renders rows for a terminal of the given width; 0 = unlimited. It drops empty columns.
func (l listing) table(rows [][]string, width int) string {
	columns, rows := told(l.columns, rows)
	return fittedTable(columns, rows, width)
}

// fittedTable renders rows for a terminal of the given width; 0 = unlimited. If a table would be
// too wide, each row becomes a block of lines.
func fittedTable(columns []string, rows [][]string, width int) string {
	if width > 0 && !fits(columns, rows, width) {
		return blocks(columns, rows, width)
	}
	return plainTable(columns, tableRows(rows), fitted(columns, rows, width))
}

// widestColumn and narrowestColumn bound a column of text.
const (
	widestColumn    = 64
	narrowestColumn = 12
	columnGap       = 2 // spaces between two columns
)

// fitted returns the widths of the columns. It narrows the widest columns first, until the table fits the
// width or no column can get narrower. Width 0 is unlimited.
func fitted(columns []string, rows [][]string, width int) []int {
	widths := make([]int, len(columns))
	total := 0
	for i, c := range columns {
		widths[i] = text.StringWidth(c)
		for _, row := range rows {
			widths[i] = max(widths[i], text.LongestLineLen(row[i]))
		}
		widths[i] = min(widths[i], widestColumn)
		total += widths[i] + columnGap
	}
	for ; width > 0 && total > width; total-- {
		w := slices.Index(widths, slices.Max(widths))
		if widths[w] <= narrowestColumn {
			break
		}
		widths[w]--
	}
	return widths
}

// fits says whether the columns fit the width without breaking a word of the first column, which
// holds the names.
func fits(columns []string, rows [][]string, width int) bool {
	if len(rows) == 0 {
		return true
	}
	needs := text.StringWidth(columns[0])
	for _, row := range rows {
		needs = max(needs, text.LongestLineLen(row[0]))
	}
	widths, total := fitted(columns, rows, width), 0
	for _, w := range widths {
		total += w + columnGap
	}
	return total <= width && widths[0] >= min(needs, widestColumn)
}

// blocks renders each row as a block: the first cell, then the other cells below, each with its
// column's name.
func blocks(columns []string, rows [][]string, width int) string {
	widest := 0
	for _, c := range columns[1:] {
		widest = max(widest, len(c))
	}
	indent := strings.Repeat(" ", 2+widest+2)
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(row[0])
		for j, cell := range row[1:] {
			for k, line := range strings.Split(cell, "\n") {
				begin := indent
				switch {
				case line == "":
					continue
				case k == 0:
					begin = fmt.Sprintf("  %-*s  ", widest, columns[j+1])
				}
				b.WriteString("\n" + wording.Pack(strings.Fields(line), " ", begin, indent, width))
			}
		}
	}
	return b.String()
}

// wrapLines wraps each line of a text separately, so existing line breaks stay.
func wrapLines(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = text.WrapSoft(line, width)
	}
	return strings.Join(lines, "\n")
}

// flaws lists the flaws that a recipe declares, by kind and cause. Each cause has the faults that
// must show it and, in brackets, the faults that may show it.
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

// under lists each fault once: the faults in must, then in brackets those that are only in may.
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

// plainTable renders rows as a table without borders, with columns of at most these widths; its only line
// is below the header. It reads the same on a terminal and in a pipe.
func plainTable(columns []string, rows []table.Row, widths []int) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	style := t.Style()
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	t.AppendHeader(tableRow(columns))
	var configs []table.ColumnConfig
	for i, w := range widths {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: w, WidthMaxEnforcer: wrapLines})
	}
	t.SetColumnConfigs(configs)
	t.AppendRows(rows)
	t.SuppressTrailingSpaces()
	return t.Render()
}

// capabilities names the testbed capabilities that a fault needs.
func capabilities(f nemesis.Fault) []string {
	names := make([]string, len(f.Needs))
	for i, c := range f.Needs {
		names[i] = string(c)
	}
	return names
}
