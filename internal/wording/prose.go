package wording

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Printable returns the text. If it has unprintable characters, Go's escapes replace them.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		q := strconv.Quote(s)
		return q[1 : len(q)-1]
	}
	return s
}

// Stamp writes a time in seconds for a table. It shows microseconds, because the delays of a
// simulated network are well below a millisecond.
func Stamp(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }

// ByNumber orders names of clients and nodes: c2 before c10, and both before n0.
func ByNumber(a, b string) int {
	kind := func(name string) string { return strings.TrimRight(name, "0123456789") }
	return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// List joins names, such as "n0, n1 and n2".
func List(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// Length writes a duration for people, such as "1.105 s" or "92 ms".
func Length(d time.Duration) string {
	trim := func(x float64, decimals int) string {
		text := strconv.FormatFloat(x, 'f', decimals, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	switch abs := d.Abs(); {
	case abs == 0:
		return "0 s"
	case abs < time.Microsecond:
		return strconv.FormatInt(d.Nanoseconds(), 10) + " ns"
	case abs < 100*time.Microsecond:
		return trim(float64(d.Nanoseconds())/1e3, 3) + " µs"
	case abs < time.Millisecond:
		return trim(float64(d.Nanoseconds())/1e6, 3) + " ms"
	case abs < time.Second:
		return trim(float64(d.Nanoseconds())/1e6, 1) + " ms"
	}
	return trim(d.Seconds(), 3) + " s"
}

// Instant writes a time since the trial's start: seconds with three decimals, or four if
// the fourth is not 0.
func Instant(d time.Duration) string {
	text := strconv.FormatFloat(d.Seconds(), 'f', 4, 64)
	return strings.TrimSuffix(text, "0") + " s"
}

// Sentence adds a capital and a full stop. A first word that is code or has a digit, such as a
// client's or node's name, stays as it is.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); !strings.ContainsAny(word, "0123456789`") {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// FirstLine returns the first line of a text, without leading blank lines.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// Ordinal returns an ordinal number, such as "1st" or "22nd".
func Ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return strconv.Itoa(n) + "st"
	case n%10 == 2:
		return strconv.Itoa(n) + "nd"
	case n%10 == 3:
		return strconv.Itoa(n) + "rd"
	}
	return strconv.Itoa(n) + "th"
}
