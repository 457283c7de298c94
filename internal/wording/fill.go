package wording

import (
	"strings"
	"unicode/utf8"
)

// Fill breaks a line into lines of at most width characters. Each line but the first begins with
// indent. A word that is longer than a line stands whole on a line of its own, so that it can be
// copied. Width 0 means no limit. The result ends without a line break.
func Fill(line, indent string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	begin := line[:len(line)-len(strings.TrimLeft(line, " "))]
	return Pack(strings.Fields(line), " ", begin, indent, width)
}

// Pack puts words into lines of at most width characters. The first line begins with begin, each
// later line with indent, and gap separates the words of a line. A word that is longer than a line
// has a line of its own. Width 0 means no limit.
func Pack(words []string, gap, begin, indent string, width int) string {
	var b strings.Builder
	b.WriteString(begin)
	used, first := utf8.RuneCountInString(begin), true
	for _, w := range words {
		n := utf8.RuneCountInString(w)
		switch {
		case first:
			b.WriteString(w)
			used += n
		case width > 0 && used+utf8.RuneCountInString(gap)+n > width:
			b.WriteString("\n" + indent + w)
			used = utf8.RuneCountInString(indent) + n
		default:
			b.WriteString(gap + w)
			used += utf8.RuneCountInString(gap) + n
		}
		first = false
	}
	return b.String()
}
