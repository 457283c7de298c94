package reports

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/trial"
)

// Matrix writes the matrix as text: recipes down, faults across, the worst verdict in each
// cell, then a legend, then the cells that could not be judged. With color it uses ANSI
// escapes. A matrix that is wider than the terminal is split into parts.
func Matrix(w io.Writer, m campaign.Matrix, color bool) error {
	width := 0
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = n
		}
	}
	_, err := io.WriteString(w, terminal(m, registries(), color, width))
	return err
}

// symbol is a cell as the terminal shows it.
type symbol struct {
	Text  string
	Color text.Colors
}

// cellSymbol returns a cell's symbol, short enough for twenty columns. An exclamation mark
// after another word than NEW stands for a flaw that the recipe does not declare.
func cellSymbol(c campaign.Cell) symbol {
	s := plainSymbol(c)
	if undeclared(c) {
		if s.Text != undeclaredWord {
			s.Text += "!"
		}
		return symbol{s.Text, text.Colors{text.FgHiWhite, text.BgRed, text.Bold}}
	}
	return s
}

// undeclaredWord is the symbol of a violation that the recipe does not declare.
const undeclaredWord = "NEW"

// undeclared reports whether a cell shows a flaw that its recipe does not declare.
func undeclared(c campaign.Cell) bool {
	return slices.ContainsFunc(c.Flaws, func(f trial.Flaw) bool { return f.Kind == "" })
}

func plainSymbol(c campaign.Cell) symbol {
	switch c.Verdict {
	case trial.Violated:
		switch c.Kind {
		case locks.Bug:
			return symbol{"BUG", text.Colors{text.FgHiRed, text.Bold}}
		case locks.Limit:
			return symbol{"limit", text.Colors{text.FgYellow}}
		}
		return symbol{undeclaredWord, text.Colors{text.FgHiRed, text.Bold}}
	case trial.Blocked:
		if c.Forever {
			return symbol{"BLOCK", text.Colors{text.FgHiMagenta, text.Bold}}
		}
		return symbol{"ttl", text.Colors{text.FgCyan}}
	case trial.NotExercised:
		return symbol{"–", text.Colors{text.Faint}}
	case trial.NotSupported:
		return symbol{"n/s", text.Colors{text.Faint}}
	case trial.Holds:
		return symbol{fmt.Sprintf("0/%d", c.Exercised), text.Colors{text.FgGreen}}
	}
	return symbol{"?", text.Colors{text.FgHiYellow, text.ReverseVideo}}
}

// boundWords explain the bound of a cell without a violation.
const boundWords = "95 % bound: at most 1 − 0.05^(1/d) of such trials, d of the n being drawn by a seed, if d ≥ 10; named schedules do not count"

// legendOf explains the symbols that a matrix uses, worst first.
func legendOf(cells []campaign.Cell) []string {
	words := []struct{ symbol, meaning string }{
		{undeclaredWord, "violated: undeclared"},
		{"BUG", "violated: the recipe breaks its own word"},
		{"limit", "violated: no lease can promise it by itself"},
		{"BLOCK", "blocked for ever"},
		{"ttl", "blocked up to the lease time"},
		{"?", "unknown"},
		{"–", "the fault hit nothing"},
		{"n/s", "not supported"},
		{"0/", "0/n: no violation in n trials"},
	}
	used := map[string]bool{}
	surprising, bounded := false, false
	for _, c := range cells {
		s := plainSymbol(c).Text
		if strings.HasPrefix(s, "0/") {
			s = "0/"
			bounded = bounded || c.Bound() < 1
		}
		used[s] = true
		surprising = surprising || undeclared(c) && plainSymbol(c).Text != undeclaredWord
	}
	var out []string
	for _, w := range words {
		switch {
		case !used[w.symbol]:
		case w.symbol == "0/":
			out = append(out, w.meaning)
			if bounded {
				out = append(out, boundWords)
			}
		default:
			out = append(out, w.symbol+" "+w.meaning)
		}
	}
	if surprising {
		out = append(out, "! with a flaw that the recipe does not declare")
	}
	return out
}

// terminal renders the matrix; width 0 is unlimited.
func terminal(m campaign.Matrix, g glossary, color bool, width int) string {
	paint := func(c text.Colors, s string) string {
		if !color {
			return s
		}
		return c.EscapeSeq() + s + text.Reset.EscapeSeq()
	}
	recipes, faults := axes(m)
	var b strings.Builder
	for _, part := range columns(recipes, faults, width) {
		b.WriteString(grid(m, recipes, part, paint))
		b.WriteString("\n")
	}
	if len(m.Cells) == 0 {
		return "no cells: nothing was run\n"
	}
	wrap(&b, "", legendOf(m.Cells), width)
	b.WriteString("\n")
	b.WriteString(faultLegend(faults, g))
	b.WriteString(unjudged(m))
	for _, p := range m.Programs {
		fmt.Fprintf(&b, "%s: %s\n", p.Words(), p.Replay)
	}
	return b.String()
}

// axes returns the recipes and the faults of a matrix, in the matrix's order.
func axes(m campaign.Matrix) (recipes, faults []string) {
	for _, c := range m.Cells {
		if !slices.Contains(recipes, c.Lock) {
			recipes = append(recipes, c.Lock)
		}
		if !slices.Contains(faults, c.Fault) {
			faults = append(faults, c.Fault)
		}
	}
	return recipes, faults
}

// columnWidth is the minimum width of a fault's column, with its gap.
const columnWidth = 7

// columns divides the faults into parts that fit the width.
func columns(recipes, faults []string, width int) [][]string {
	stub := len("recipe") + 1
	for _, r := range recipes {
		stub = max(stub, len(r)+1)
	}
	var parts [][]string
	used := 0
	for _, f := range faults {
		need := columnWidth
		for _, line := range strings.Split(heading(f), "\n") {
			need = max(need, len(line)+1)
		}
		if len(parts) == 0 || width > 0 && used+need > width {
			parts, used = append(parts, nil), stub
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], f)
		used += need
	}
	return parts
}

func grid(m campaign.Matrix, recipes, faults []string, paint func(text.Colors, string) string) string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Box.PaddingLeft, style.Box.PaddingRight, style.Box.MiddleVertical = " ", "", ""
	style.Box.MiddleHorizontal, style.Box.MiddleSeparator = "─", "─"
	style.Box.LeftSeparator, style.Box.RightSeparator = "", ""
	style.Options = table.Options{SeparateHeader: true}
	style.Format = table.FormatOptions{}
	style.Color = table.ColorOptions{}
	t.SetStyle(style)
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft, VAlignHeader: text.VAlignBottom}}
	header := table.Row{"recipe"}
	for i, f := range faults {
		header = append(header, heading(f))
		configs = append(configs, table.ColumnConfig{
			Number: i + 2, Align: text.AlignCenter, AlignHeader: text.AlignCenter,
			VAlignHeader: text.VAlignBottom, WidthMin: columnWidth - 1,
		})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for _, r := range recipes {
		row := table.Row{r}
		for _, f := range faults {
			text := ""
			if c, ok := cellOf(m, r, f); ok {
				s := cellSymbol(c)
				text = paint(s.Color, s.Text)
			}
			row = append(row, text)
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func cellOf(m campaign.Matrix, lock, fault string) (campaign.Cell, bool) {
	i := slices.IndexFunc(m.Cells, func(c campaign.Cell) bool { return c.Lock == lock && c.Fault == fault })
	if i < 0 {
		return campaign.Cell{}, false
	}
	return m.Cells[i], true
}

// longestWord is the maximum length of a word in a heading.
const longestWord = 8

// heading writes the words of a fault's name below each other. A word too long for
// a column is abbreviated, as "part.", because a word split over two lines reads
// worse. The legend has the whole name.
func heading(fault string) string {
	words := strings.Split(fault, "-")
	for i, word := range words {
		if len(word) > longestWord {
			words[i] = word[:4] + "."
		}
	}
	return strings.Join(words, "\n")
}

// wrap writes entries, separated by dots, in lines of at most width columns.
func wrap(b *strings.Builder, indent string, entries []string, width int) {
	if width <= 0 {
		width = 120
	}
	line := indent
	for i, e := range entries {
		if i > 0 && len([]rune(line))+3+len([]rune(e)) > width {
			b.WriteString(line + "\n")
			line = indent
		} else if i > 0 {
			line += " · "
		}
		line += e
	}
	b.WriteString(line + "\n")
}

// faultLegend says what the faults do.
func faultLegend(faults []string, g glossary) string {
	var b strings.Builder
	widest := 0
	for _, f := range faults {
		widest = max(widest, len(f))
	}
	for _, f := range faults {
		for _, t := range g.Faults {
			if t.Name == f {
				fmt.Fprintf(&b, "%-*s  %s\n", widest, f, t.Doc)
			}
		}
	}
	return b.String()
}

// unjudged lists the cells and trials that were not judged, with the reasons.
func unjudged(m campaign.Matrix) string {
	var b strings.Builder
	if text := interrupted(m); text != "" {
		b.WriteString(text + "\n")
	}
	for _, line := range undecided(m) {
		b.WriteString(line + "\n")
	}
	for _, v := range m.Varying {
		b.WriteString(v.Words() + "\n")
	}
	groups := []struct {
		verdict trial.Outcome
		title   string
	}{
		{trial.Unknown, "unknown"},
		{trial.NotExercised, "fault not exercised"},
		{trial.NotSupported, "not supported"},
	}
	for _, g := range groups {
		for _, r := range reasons(m, g.verdict) {
			fmt.Fprintf(&b, "%s: %s\n", g.title, r)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// reasons lists the cells of a verdict, grouped by fault and reason: "failover:
// exists-set, setnx (reason)".
func reasons(m campaign.Matrix, verdict trial.Outcome) []string {
	type group struct{ fault, why string }
	var order []group
	recipes := map[group][]string{}
	for _, c := range m.Cells {
		if c.Verdict != verdict {
			continue
		}
		why := cmp.Or(c.Lack.Words(), prose.FirstLine(c.Why)) // the line names the fault already
		if verdict == trial.Unknown && c.Undecided > 0 {
			why = undecidedWords(c)
		}
		g := group{c.Fault, why}
		if _, ok := recipes[g]; !ok {
			order = append(order, g)
		}
		recipes[g] = append(recipes[g], c.Lock)
	}
	all, faults := axes(m)
	slices.SortStableFunc(order, func(a, b group) int { return slices.Index(faults, a.fault) - slices.Index(faults, b.fault) })
	var out []string
	for _, g := range order {
		who := strings.Join(recipes[g], ", ")
		if len(recipes[g]) == len(all) && len(all) > 1 {
			who = "all recipes"
		}
		line := g.fault + ": " + who
		if g.why != "" {
			line += " (" + g.why + ")"
		}
		out = append(out, line)
	}
	return out
}

// undecidedWords says how many of the cell's trials are undecided, and why.
func undecidedWords(c campaign.Cell) string {
	text := fmt.Sprintf("%d of %d %s undecided", c.Undecided, c.Trials, wording.Plural(c.Trials, "trial"))
	if why := prose.FirstLine(cmp.Or(c.UndecidedWhy, c.Why)); why != "" {
		text += ": " + why
	}
	return text
}

// undecided lists the cells that have a verdict although some of their trials are
// undecided.
func undecided(m campaign.Matrix) []string {
	var out []string
	for _, c := range m.Cells {
		if isOpen(c) {
			out = append(out, openWords(c))
		}
	}
	return out
}

// isOpen reports whether a cell has a verdict although some of its trials are undecided.
func isOpen(c campaign.Cell) bool { return c.Undecided > 0 && c.Verdict != trial.Unknown }

func openWords(c campaign.Cell) string {
	return fmt.Sprintf("%s under %s: %s", c.Lock, c.Fault, undecidedWords(c))
}
