package wording

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Escape escapes Markdown's markup, except in code in backticks.
func Escape(s string) string {
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		if i == len(parts)-1 && len(parts)%2 == 0 {
			break // an unpaired backtick: the rest is not code
		}
		parts[i] = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "|", `\|`, "#", `\#`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// Cell escapes text for a cell of a Markdown table. Line breaks become spaces.
func Cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
}

// measure matches the end of a number and its unit, such as "5 ms".
var measure = regexp.MustCompile(`(\d) (s|ms|ns)\b`)

// Wrap removes the marks that Plain removes, and breaks the text into lines of at most width
// columns, including the indent. The caller writes the indent of the first line.
func Wrap(s, indent string, width int) string {
	var b strings.Builder
	bound := measure.ReplaceAllString(Plain(s), "${1}\uE000${2}") // no line break between a number and its unit
	for i, line := range strings.Split(text.WrapSoft(bound, width-len(indent)), "\n") {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(strings.ReplaceAll(strings.TrimRight(line, " "), "\uE000", " ") + "\n")
	}
	return b.String()
}

// Plain removes the Markdown marks of bold text and of code.
func Plain(s string) string { return strings.NewReplacer("**", "", "`", "").Replace(s) }
