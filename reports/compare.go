package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// SideBySide writes the matrices of several campaigns as one, in Markdown. First comes a list of the
// campaigns, then a row for each recipe and a column for each fault. If all campaigns with the
// cell agree, the cell has one word. Otherwise it has one word for each campaign, in order; a dot
// is a campaign without the cell. At the end stand the flaws that only some campaigns with the
// cell showed. The error is w's.
func SideBySide(w io.Writer, all ...campaign.Stored) error {
	var b strings.Builder
	var joint campaign.Matrix
	for i, s := range all {
		fmt.Fprintf(&b, "%d. %s, %s: %d trials of %d cells", i+1, s.Matrix.Testbed, s.Info.Config.TTL, len(s.Trials), len(s.Matrix.Cells))
		if n, of := s.Confirmed(); of > 0 {
			fmt.Fprintf(&b, "; %d of %d flaws confirmed", n, of)
		}
		b.WriteString("\n")
		joint.Cells = append(joint.Cells, s.Matrix.Cells...)
	}
	recipes, faults := plots.CellAxes(joint)
	slices.Sort(recipes)
	b.WriteString("\n| recipe |")
	for _, f := range faults {
		b.WriteString(" " + f + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(faults)) + "\n")
	var differences []string
	for _, r := range recipes {
		fmt.Fprintf(&b, "| `%s` |", r)
		for _, f := range faults {
			b.WriteString(" " + together(all, r, f) + " |")
			differences = append(differences, differing(all, r, f)...)
		}
		b.WriteString("\n")
	}
	if len(differences) > 0 {
		b.WriteString("\n" + strings.Join(differences, "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// together returns the campaigns' words for one cell.
func together(all []campaign.Stored, recipe, fault string) string {
	var words, said []string
	for _, s := range all {
		c, ok := plots.CellOf(s.Matrix, recipe, fault)
		if !ok {
			words = append(words, "·")
			continue
		}
		word := plainVerdict(c)
		words = append(words, word)
		if !slices.Contains(said, word) {
			said = append(said, word)
		}
	}
	switch len(said) {
	case 0:
		return "·"
	case 1:
		return said[0]
	}
	return strings.Join(words, " / ")
}

// differing returns a line for each flaw of a cell that only some campaigns showed. Campaigns that
// do not support the cell do not count.
func differing(all []campaign.Stored, recipe, fault string) (lines []string) {
	type sighting struct{ flaw, on string }
	var have []string
	var seen []sighting
	for i, s := range all {
		c, ok := plots.CellOf(s.Matrix, recipe, fault)
		if !ok || c.Verdict == trial.NotSupported {
			continue
		}
		on := nickname(all, i)
		have = append(have, on)
		for _, f := range c.Flaws {
			seen = append(seen, sighting{fmt.Sprintf("%s (%s)", f.Oracle, f.Cause), on})
		}
	}
	for _, g := range groupBy(seen, func(x sighting) string { return x.flaw }) {
		in := slices.Compact(texts(g.Items, func(x sighting) string { return x.on }))
		if out := slices.DeleteFunc(slices.Clone(have), func(on string) bool { return slices.Contains(in, on) }); len(out) > 0 {
			lines = append(lines, fmt.Sprintf("- `%s` × %s: %s shows on %s, not on %s", recipe, fault, g.Key, strings.Join(in, " and "), strings.Join(out, " and ")))
		}
	}
	return lines
}

// nickname returns the testbed of campaign i, with the campaign's number if another
// campaign has the same testbed.
func nickname(all []campaign.Stored, i int) string {
	name := all[i].Matrix.Testbed
	for j, s := range all {
		if j != i && s.Matrix.Testbed == name {
			return fmt.Sprintf("%s (%d)", name, i+1)
		}
	}
	return name
}
