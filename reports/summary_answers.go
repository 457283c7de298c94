package reports

import (
	"fmt"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// mostAnswers is the maximum size of the answers in report.md, in bytes.
const mostAnswers = 14_000

// summaryAnswers says of each recipe whether to use it, best first.
func summaryAnswers(r result, v view) boundedSection {
	s := boundedSection{Head: "## Which lock to use\n\n", Most: mostAnswers, Rest: func(n int) string {
		return fmt.Sprintf("- %d more %s: [%s](%s#answers)\n\n", n, wording.Plural(n, "recipe"), HTMLFile, HTMLFile)
	}}
	_, faults := axes(r.Matrix)
	rows := r.adviceRows(v.Rows, faults)
	for i, row := range rows {
		text := fmt.Sprintf("- `%s`: **%s** %s\n", row.Recipe, row.Advice.Label(), row.Advice.Words())
		if i == len(rows)-1 {
			text += "\n"
		}
		s.Items = append(s.Items, boundedItem{Whole: text})
	}
	return s
}
