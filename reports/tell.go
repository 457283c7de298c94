package reports

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// Roughly returns a rounded duration for people: "4.1 s", "41 s", "6m40s", "3h12m".
func Roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// proseWidth is the maximum width of a paragraph, and the width if there is no terminal.
const proseWidth = 100

// Tell writes as text what happened in a trial that was violated, or in which the clients' program
// showed a flaw: the verdict in words, the story, the recipe's declaration of the flaw, and the
// entries that matter, ordered by time. For any other trial it writes only the verdict. width is
// the terminal's; 0 = unknown.
func Tell(w io.Writer, t trial.Result, e history.Evidence, width int) error {
	_, err := io.WriteString(w, registries().tell(t, e, width))
	return err
}

func (g glossary) tell(t trial.Result, e history.Evidence, screen int) string {
	var b strings.Builder
	flaws := texts(t.Flaws, flawWords)
	head := trialTitle(t) + ": " + trialWords(t)
	if len(flaws) > 0 {
		head += " (" + strings.Join(flaws, ", ") + ")"
	}
	b.WriteString(wording.Fill(head, "  ", screen) + "\n")
	f, ok := story.FocusOn(told(t, e))
	if !ok || !t.Violation() && !f.Finding.OfProgram() {
		return b.String()
	}
	width := proseWidth
	if screen > 0 {
		width = min(screen, proseWidth)
	}
	b.WriteString("\n" + story.Tell(f).Terminal(width))
	for _, paragraph := range []string{g.declaredWords(t, f.Finding), story.Ordered} {
		b.WriteString("\n" + wording.Wrap(paragraph, "", width))
	}
	b.WriteString("\n")
	entries, more := story.Log(f)
	for _, x := range entries {
		begin := fmt.Sprintf("%11s  %-8s ", wording.Stamp(x.At), x.Who)
		line := begin + wording.Plain(x.What)
		if n := utf8.RuneCountInString(begin); screen > 0 && utf8.RuneCountInString(line) > screen {
			line = wording.Pack(strings.Fields(wording.Plain(x.What)), " ", begin, strings.Repeat(" ", n), screen)
		}
		b.WriteString(line + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "%11s  and %d more\n", "", more)
	}
	return b.String()
}
