package story

import (
	"fmt"
	"strings"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// WhatBroke is the heading of the broken assumption.
const WhatBroke = "Which assumption broke"

// WhatPrevents is the heading of the remedies. It says if none was tried on the trial.
func (t Story) WhatPrevents() string {
	if t.Tried {
		return "What would have prevented it"
	}
	return "What would have prevented it (not tried)"
}

// Markdown returns the story as a numbered list, followed by the broken assumption and the
// remedies.
func (t Story) Markdown() string {
	var b strings.Builder
	for i, s := range t.Steps {
		fmt.Fprintf(&b, "%d. **%s**: %s\n", i+1, wording.Instant(s.At), wording.Escape(wording.Sentence(s.Text)))
	}
	fmt.Fprintf(&b, "\n**%s:** %s\n\n", WhatBroke, wording.Escape(t.Broken))
	if len(t.Prevented) > 0 {
		fmt.Fprintf(&b, "**%s:**\n\n", t.WhatPrevents())
		for _, p := range t.Prevented {
			fmt.Fprintf(&b, "- %s\n", wording.Escape(wording.Sentence(p)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Terminal returns the story as text for a terminal that is width columns wide.
func (t Story) Terminal(width int) string {
	var b strings.Builder
	for i, s := range t.Steps {
		head := fmt.Sprintf("%2d. %10s  ", i+1, wording.Instant(s.At))
		b.WriteString(head + wording.Wrap(wording.Sentence(s.Text), strings.Repeat(" ", len(head)), width))
	}
	b.WriteString("\n" + wording.Wrap(WhatBroke+": "+t.Broken, "", width))
	if len(t.Prevented) > 0 {
		b.WriteString("\n" + t.WhatPrevents() + ":\n")
		for _, p := range t.Prevented {
			b.WriteString("  - " + wording.Wrap(wording.Sentence(p), "    ", width))
		}
	}
	return b.String()
}

// Lines returns the story as lines without markup, for CI systems.
func (t Story) Lines() []string {
	var out []string
	if t.Note != "" {
		out = append(out, wording.Plain(t.Note))
	}
	for i, s := range t.Steps {
		out = append(out, fmt.Sprintf("%d. %s: %s", i+1, wording.Instant(s.At), wording.Plain(wording.Sentence(s.Text))))
	}
	if t.Broken != "" {
		out = append(out, WhatBroke+": "+wording.Plain(t.Broken))
	}
	for i, p := range t.Prevented {
		head := t.WhatPrevents() + ": "
		if i > 0 {
			head = "Also: "
		}
		out = append(out, head+wording.Plain(wording.Sentence(p)))
	}
	return out
}
