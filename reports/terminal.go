package reports

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// Screen describes an output for text. The zero value is a pipe.
type Screen struct {
	Color bool // use ANSI escapes
	// Width is the maximum number of columns; 0 = unlimited. Only a word that is longer, such as a
	// path, exceeds it.
	Width int
	// Program is the program's name as the user called it; "" = lockstorm. Command lines begin
	// with this name.
	Program string
}

// Matrix writes the matrix as text: recipes down, faults across, the worst verdict in each cell;
// then a legend; then the cells that could not be judged; then the flaws of the clients' programs.
// A matrix that is wider than the screen is split into parts. The error is w's.
func Matrix(w io.Writer, m campaign.Matrix, s Screen) error {
	_, err := io.WriteString(w, terminal(m, registries(), s))
	return err
}

// symbol is a cell as the terminal shows it.
type symbol struct {
	Text  string
	Color text.Colors
}

// cellSymbol returns a cell's symbol, such as "limit" or "0/50". It is so short that a matrix of
// twenty columns fits a wide screen. If the cell shows an undeclared flaw, but its verdict is another one, the
// symbol ends with an exclamation mark.
func cellSymbol(c campaign.Cell) symbol {
	v := plots.Verdicts[plots.Rank(c)]
	s := symbol{v.Symbol, v.Colors}
	if v.Class == "holds" {
		s.Text += strconv.Itoa(c.Exercised)
	}
	if undeclared(c) {
		s.Color = text.Colors{text.FgHiWhite, text.BgRed, text.Bold}
		if v.Class != "new" {
			s.Text += "!"
		}
	}
	return s
}

// undeclared reports whether a cell shows a flaw that its recipe does not declare.
func undeclared(c campaign.Cell) bool {
	return slices.ContainsFunc(c.Flaws, func(f trial.Flaw) bool { return f.Kind == "" })
}

// terminal renders the matrix for a screen.
func terminal(m campaign.Matrix, g glossary, s Screen) string {
	if len(m.Cells) == 0 {
		return "no cells: nothing was run\n"
	}
	paint := func(c text.Colors, word string) string {
		if !s.Color {
			return word
		}
		return c.EscapeSeq() + word + text.Reset.EscapeSeq()
	}
	recipes, faults := plots.CellAxes(m)
	var b strings.Builder
	if text := interrupted(m); text != "" {
		b.WriteString(wording.Fill(text, "", s.Width) + "\n\n")
	}
	for _, part := range columns(recipes, faults, s.Width) {
		b.WriteString(grid(m, recipes, part, paint))
		b.WriteString("\n")
	}
	b.WriteString(legend(m.Cells, s.Width) + "\n\n")
	b.WriteString(faultLegend(faults, g, s.Width))
	b.WriteString(unjudged(m, s.Width))
	for _, p := range m.Programs {
		b.WriteString(s.withCommand(p.Words(), p.Replay))
	}
	return b.String()
}

// withCommand joins words and a command line: on one line if they fit, otherwise with the command
// on the next line.
func (s Screen) withCommand(words, command string) string {
	command = wording.As(command, s.Program)
	line := words + ": " + command
	if s.Width <= 0 || utf8.RuneCountInString(line) <= s.Width {
		return line + "\n"
	}
	const indent = "    "
	return wording.Fill(words+":", "  ", s.Width) + "\n  " + wording.CommandLines(command, indent, s.Width-len(indent)+2) + "\n"
}

// columnWidth is the minimum width of a fault's column, including its gap.
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
			if c, ok := plots.CellOf(m, r, f); ok {
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

// longestWord is the maximum length of a word in a heading.
const longestWord = 8

// heading writes the words of a fault's name below each other. A word too long for a column is
// abbreviated, such as "part.", because a word split over two lines is harder to read. The legend
// has the full name.
func heading(fault string) string {
	words := strings.Split(fault, "-")
	for i, word := range words {
		if len(word) > longestWord {
			words[i] = word[:4] + "."
		}
	}
	return strings.Join(words, "\n")
}
