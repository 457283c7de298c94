package reports

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// proseWidth is how wide a paragraph is at most, and where there is no terminal.
const proseWidth = 100

// Tell writes what happened in a violated trial as text: the verdict in words,
// the story, what the recipe says about it, and the entries that matter in
// order of time. Of any other trial it writes the verdict only. Width is the
// terminal's; 0 is unknown.
func Tell(w io.Writer, t trial.Result, e history.Evidence, width int) error {
	_, err := io.WriteString(w, registries().tell(t, e, width))
	return err
}

func (g glossary) tell(t trial.Result, e history.Evidence, width int) string {
	var b strings.Builder
	var flaws []string
	for _, f := range t.Flaws {
		flaws = append(flaws, flawWords(f))
	}
	b.WriteString(trialTitle(t) + ": " + trialWords(t))
	if len(flaws) > 0 {
		b.WriteString(" (" + strings.Join(flaws, ", ") + ")")
	}
	b.WriteString("\n")
	f, ok := focusOn(t, e)
	if !t.Violation() || !ok {
		return b.String()
	}
	if width <= 0 || width > proseWidth {
		width = proseWidth
	}
	b.WriteString("\n" + tellStory(e, f).terminal(width))
	for _, paragraph := range []string{g.declaredWords(t, f.Finding), ordered} {
		b.WriteString("\n" + wrapped(paragraph, "", width))
	}
	b.WriteString("\n")
	entries, more := relevant(e, f)
	for _, x := range entries {
		fmt.Fprintf(&b, "%11s  %-8s %s\n", stamp(x.At), x.Who, plain(x.What))
	}
	if more > 0 {
		fmt.Fprintf(&b, "%11s  and %d more\n", "", more)
	}
	return b.String()
}

// measure is a number with its unit.
var measure = regexp.MustCompile(`(\d) (s|ms|ns)\b`)

// wrapped breaks a text into lines of that width; those after the first begin
// with the indent, which the first is expected to have.
func wrapped(s, indent string, width int) string {
	var b strings.Builder
	bound := measure.ReplaceAllString(plain(s), "${1}\uE000${2}") // a length and its unit stay together
	for i, line := range strings.Split(text.WrapSoft(bound, width-len(indent)), "\n") {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(strings.ReplaceAll(strings.TrimRight(line, " "), "\uE000", " ") + "\n")
	}
	return b.String()
}

// plain takes Markdown's marks out of a text of this package's own.
func plain(s string) string { return strings.NewReplacer("**", "", "`", "").Replace(s) }

// CommandLine is a command in one line: when it was sent, by whom and where to,
// what it was, and what became of it.
func CommandLine(c history.Command) string {
	late := ""
	if c.Ran() && c.Served-c.Sent > lateness {
		late = "ran at " + instant(c.Served)
	}
	return fmt.Sprintf("%11s  %-8s %s", stamp(c.Sent), fmt.Sprintf("c%d → %s", c.Client, c.Node), plain(commandWords(c, nil, late)))
}

// FaultLines are what the nemesis did, one line each, in order of time: the faults
// that began and ended, with what they hit, what it did to nodes and clients, and
// what it found in the end.
func FaultLines(ops []history.Op) []string {
	var lines []string
	for _, op := range ops {
		if op.Process != history.Nemesis {
			continue
		}
		if text := nemesisEntry(op); text != "" {
			lines = append(lines, fmt.Sprintf("%11s  %-8s %s", stamp(op.Time), "nemesis", plain(text)))
		}
	}
	return lines
}
