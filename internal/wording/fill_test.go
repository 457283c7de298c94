package wording

import "testing"

func TestFillBreaksBetweenWordsAlone(t *testing.T) {
	for _, c := range []struct {
		line, indent string
		width        int
		want         string
	}{
		{"one two three", "", 0, "one two three"},
		{"one  two", "", 8, "one  two"},
		{"one two three", "  ", 9, "one two\n  three"},
		{"  one two three", "    ", 9, "  one two\n    three"},
		{"see store/compare/2026 there", "", 10, "see\nstore/compare/2026\nthere"},
		{"· – × ·", "", 5, "· – ×\n·"},
	} {
		if got := Fill(c.line, c.indent, c.width); got != c.want {
			t.Errorf("Fill(%q, %q, %d) = %q, want %q", c.line, c.indent, c.width, got, c.want)
		}
	}
}
