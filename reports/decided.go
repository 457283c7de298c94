package reports

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial/decision"
)

// decidedName is the name of a decision's files, without the extension.
const decidedName = "decided"

// DecidedFile is the plot of when a violation became certain (decision.Decision), in the trial's
// folder. A CSV file is beside it.
const DecidedFile = decidedName + ".svg"

// decidedSection is the section that Decided appends to a counterexample's page.
const decidedSection = "\n## When it became certain\n\n![Continuations that avert the violation, by the instant from which they go on](" + DecidedFile + ")\n\n" +
	"Figures: [" + decidedName + ".csv](" + decidedName + ".csv)\n"

// Decided writes the plot and the figures of a decision into the trial's folder. If the folder has
// a counterexample's page, the page then shows the plot.
func Decided(folder string, d decision.Decision, e history.Evidence) error {
	p, err := plots.New(decidedName, "", plots.Decision(d, e, registries().faultColor), decidedTable(d, e))
	if err != nil {
		return err
	}
	if err := savePlot(folder, p); err != nil {
		return err
	}
	name := filepath.Join(folder, CounterexampleFile)
	page, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the counterexample: %w", err)
	case strings.Contains(string(page), decidedSection):
		return nil
	}
	return write(name, append(page, decidedSection...))
}

// DecidedWords says in sentences when a violation became certain.
func DecidedWords(d decision.Decision, e history.Evidence) string {
	certain := d.Points[d.Certain]
	text := fmt.Sprintf("The violation (%s by %s) shows at %s s. From %s s on it was certain: it showed in all %d continuations in which every fault ended there.",
		d.Flaw.Oracle, d.Flaw.Cause, prose.Stamp(d.Shown), prose.Stamp(certain.At), certain.Runs)
	if d.Certain == 0 {
		return text + " No earlier instant averts it: it needs no fault after the trial's start."
	}
	before := d.Points[d.Certain-1]
	text += fmt.Sprintf(" At %s s, %d of %d still averted it.", prose.Stamp(before.At), before.Runs-before.Violated, before.Runs)
	if all := meanwhile(e, before.At, certain.At); len(all) > 0 {
		more := ""
		if n := len(all) - mostEvents; n > 0 {
			all, more = all[:mostEvents], fmt.Sprintf("; and %d more", n)
		}
		text += " What happened in between: " + strings.Join(all, "; ") + more + "."
	}
	return text
}

// mostEvents is the maximum number of events in DecidedWords.
const mostEvents = 8

// meanwhile describes the events after the first instant, up to and including the second, in the
// order of their times. They include the instants at which keys expire: an expiry changes nothing
// until a command or the node notices it.
func meanwhile(e history.Evidence, from, to time.Duration) []string {
	type event struct {
		at    time.Duration
		words string
	}
	var all []event
	for _, op := range e.Ops {
		if op.Time > from && op.Time <= to {
			who, what := story.OpMoment(e, op.Index)
			all = append(all, event{op.Time, who + ": " + prose.Plain(what)})
		}
	}
	for _, k := range e.Keys {
		if k.To > from && k.To <= to {
			who, what := story.KeyMoment(e, k.Index)
			all = append(all, event{k.To, who + ": " + what})
		}
		// Redis keeps a key through the millisecond in which its life ends. So a life that ends shortly
		// before the first instant may take effect after it.
		if k.After != nil && k.After.Expires > from-2*time.Millisecond && k.After.Expires <= to {
			words := fmt.Sprintf("%s: the life of %s ends at %s", k.Node, k.Key, prose.Instant(k.After.Expires))
			all = append(all, event{k.After.Expires, words})
		}
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.words, b.words)) })
	var words []string
	for _, x := range slices.Compact(all) {
		words = append(words, x.words)
	}
	return words
}

// moment describes the event at an instant.
func moment(e history.Evidence, i decision.Instant) (who, what string) {
	if i.Op >= 0 {
		who, what = story.OpMoment(e, i.Op)
	} else {
		who, what = story.KeyMoment(e, i.Key)
	}
	return who, prose.Plain(what)
}

// decidedTable returns, for each instant, the event there and the counts of continuations.
func decidedTable(d decision.Decision, e history.Evidence) [][]string {
	rows := [][]string{{"seconds", "who", "what", "continuations", "violated"}}
	for _, p := range d.Points {
		who, what := moment(e, p.Instant)
		rows = append(rows, []string{prose.Stamp(p.At), who, what, strconv.Itoa(p.Runs), strconv.Itoa(p.Violated)})
	}
	return rows
}
