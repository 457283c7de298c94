package reports

import (
	"fmt"
	"strings"
)

// Headings of what follows a story's steps.
const (
	whatBroke    = "Which assumption broke"
	whatPrevents = "What would have prevented it"
)

// markdown writes the story as a numbered list, and what is to be learnt from it.
func (t telling) markdown() string {
	var b strings.Builder
	for i, s := range t.Steps {
		fmt.Fprintf(&b, "%d. **%s**: %s\n", i+1, instant(s.At), markdown(sentence(s.Text)))
	}
	fmt.Fprintf(&b, "\n**%s:** %s\n\n", whatBroke, markdown(t.Broken))
	if len(t.Prevented) > 0 {
		fmt.Fprintf(&b, "**%s:**\n\n", whatPrevents)
		for _, p := range t.Prevented {
			fmt.Fprintf(&b, "- %s\n", markdown(sentence(p)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// terminal writes the story as text for a terminal of that width.
func (t telling) terminal(width int) string {
	var b strings.Builder
	for i, s := range t.Steps {
		head := fmt.Sprintf("%2d. %10s  ", i+1, instant(s.At))
		b.WriteString(head + wrapped(sentence(s.Text), strings.Repeat(" ", len(head)), width))
	}
	b.WriteString("\n" + wrapped(whatBroke+": "+t.Broken, "", width))
	if len(t.Prevented) > 0 {
		b.WriteString("\n" + whatPrevents + ":\n")
		for _, p := range t.Prevented {
			b.WriteString("  - " + wrapped(sentence(p), "    ", width))
		}
	}
	return b.String()
}

// lines are the story as lines without markup: what CI systems show.
func (t telling) lines() []string {
	var out []string
	if t.Note != "" {
		out = append(out, plain(t.Note))
	}
	for i, s := range t.Steps {
		out = append(out, fmt.Sprintf("%d. %s: %s", i+1, instant(s.At), plain(sentence(s.Text))))
	}
	if t.Broken != "" {
		out = append(out, whatBroke+": "+plain(t.Broken))
	}
	for i, p := range t.Prevented {
		head := whatPrevents + ": "
		if i > 0 {
			head = "Also: "
		}
		out = append(out, head+plain(sentence(p)))
	}
	return out
}
