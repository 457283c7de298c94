package reports

import (
	"fmt"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// legend explains the symbols that a matrix uses, and the bounds of its cells without a violation.
func legend(cells []campaign.Cell, width int) string {
	used, anyUndeclared := map[string]bool{}, false
	for _, c := range cells {
		class := plots.CellClass(c)
		used[class] = true
		anyUndeclared = anyUndeclared || undeclared(c) && class != "new"
	}
	var entries []string
	for _, v := range plots.Verdicts {
		switch {
		case !used[v.Class]:
		case v.Class == "holds":
			entries = append(entries, v.Legend) // it has the symbol
		default:
			entries = append(entries, v.Symbol+" "+v.Legend)
		}
	}
	if anyUndeclared {
		entries = append(entries, "! with a flaw that the recipe does not declare")
	}
	text := packEntries(entries, width)
	if bound := boundWords(cells); bound != "" {
		text += "\n" + wording.Fill(bound, "", width)
	}
	return text
}

// boundWords returns the 95 % bounds of cells without a violation: of the cells with the fewest
// and the most drawn trials. It returns "" if no such cell has a drawn trial.
func boundWords(cells []campaign.Cell) string {
	var least, most campaign.Cell // the cells with a bound that have the fewest and the most drawn trials
	drawn := false
	for _, c := range cells {
		if c.Verdict != trial.Holds || c.Drawn() == 0 {
			continue
		}
		drawn = true
		if !c.Bounded() {
			continue
		}
		if !least.Bounded() || c.Drawn() < least.Drawn() {
			least = c
		}
		if c.Drawn() > most.Drawn() {
			most = c
		}
	}
	switch {
	case !drawn:
		return ""
	case !least.Bounded():
		return fmt.Sprintf("95 %% bound: none, since no cell without a violation has %d drawn trials; named schedules and trials of the corpus do not count", campaign.FewTrials)
	}
	text := fmt.Sprintf("95 %% bound: no violation in %d drawn trials means that at most %.2g %% of such trials are violated", least.Drawn(), 100*least.Bound())
	if most.Drawn() > least.Drawn() {
		text += fmt.Sprintf(", in %d at most %.2g %%", most.Drawn(), 100*most.Bound())
	}
	return text + "; named schedules and trials of the corpus do not count"
}

// pageColumns is the width of a legend if the screen has no limit.
const pageColumns = 120

func orPage(width int) int {
	if width <= 0 {
		return pageColumns
	}
	return width
}

// packEntries packs entries into lines, separated by dots. An entry that is wider than the screen
// is wrapped.
func packEntries(entries []string, width int) string {
	width = orPage(width)
	lines := strings.Split(wording.Pack(entries, " · ", "", "", width), "\n")
	for i := range lines {
		lines[i] = wording.Fill(lines[i], "  ", width)
	}
	return strings.Join(lines, "\n")
}

// faultLegend returns a line with the effect of each fault. It leaves out faults that the glossary does
// not know.
func faultLegend(faults []string, g glossary, width int) string {
	var b strings.Builder
	widest := 0
	for _, f := range faults {
		widest = max(widest, len(f))
	}
	for _, f := range faults {
		for _, t := range g.Faults {
			if t.Name == f {
				begin := fmt.Sprintf("%-*s  ", widest, f)
				b.WriteString(wording.Pack(strings.Fields(t.Doc), " ", begin, strings.Repeat(" ", len(begin)), width) + "\n")
			}
		}
	}
	return b.String()
}
