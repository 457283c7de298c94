package history

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// same reports whether two texts are equal except for the names of tokens, and remembers
// which names correspond. declared: the recipe itself calls the texts tokens.
func (c *comparer) same(a, b string, declared bool) bool {
	x, y := wordsOf(a), wordsOf(b)
	if len(x) != len(y) || !slices.EqualFunc(x, y, func(x, y piece) bool { return x.apart == y.apart }) {
		x, y = []piece{{text: a}}, []piece{{text: b}} // compare the texts as one word each
	}
	for i := range x {
		if !x[i].apart && !c.sameWord(x[i].text, y[i].text, declared) || x[i].apart && x[i].text != y[i].text {
			return false
		}
	}
	return true
}

// sameWord is like same, but compares single words.
func (c *comparer) sameWord(a, b string, declared bool) bool {
	if len(a) < leastDrawn && len(b) < leastDrawn {
		return a == b
	}
	there, known := c.there[a]
	back, met := c.back[b]
	switch {
	case known || met:
		return there == b && back == a
	case a != b && !looksDrawn(a, b, declared) && !c.made(a, b):
		return false
	}
	c.there[a], c.back[b] = b, a
	if a != b {
		c.drawn = append(c.drawn, [2]string{a, b})
	}
	return true
}

// made reports whether replacing one known token's name turns a into b.
func (c *comparer) made(a, b string) bool {
	return slices.ContainsFunc(c.drawn, func(names [2]string) bool {
		return strings.Contains(a, names[0]) && strings.Replace(a, names[0], names[1], 1) == b
	})
}

// translated replaces the first run's tokens in a text by the second run's.
func (c *comparer) translated(text string) string {
	var b strings.Builder
	for _, w := range wordsOf(text) {
		if name, known := c.there[w.text]; known && !w.apart {
			b.WriteString(name)
		} else {
			b.WriteString(w.text)
		}
	}
	return b.String()
}

// piece is a word of a text, or a run of separators.
type piece struct {
	text  string
	apart bool // text is a run of separators
}

// separators end a word. The characters of base64, UUIDs and identifiers do not.
const separators = " \t\r\n,;:.\"'`[]{}()<>|@#!?*&%$^~\\"

func wordsOf(text string) (words []piece) {
	for len(text) > 0 {
		apart := strings.IndexByte(separators, text[0]) >= 0
		n := 1
		for n < len(text) && (strings.IndexByte(separators, text[n]) >= 0) == apart {
			n++
		}
		words, text = append(words, piece{text[:n], apart}), text[n:]
	}
	return words
}

const (
	// leastDrawn is the minimum number of bytes in which two random words differ, so
	// that no counter, fence or short number counts as a random word.
	leastDrawn = 6
	// leastDigits is the minimum length of a random decimal number: times in
	// milliseconds and durations in nanoseconds are shorter.
	leastDigits = 15
	// leastTurns is the minimum number of changes between digits, small letters and
	// capitals in a random word.
	leastTurns = 3
)

// looksDrawn reports whether two different words can be two draws from one source of random names. If in
// doubt, it returns false, for example for two counters, two times, or two words of a language. Declared
// tokens are in doubt only if they differ in few bytes, or in decimal digits alone.
func looksDrawn(a, b string, declared bool) bool {
	x, y := trimmed(a, b)
	switch {
	case len(x) < leastDrawn || len(y) < leastDrawn:
		return false
	case decimal(x) && decimal(y):
		start := strings.Index(a, x)
		return randomNumber(digitsAround(a, start)) && randomNumber(digitsAround(b, start))
	case declared:
		return true
	}
	drawn := func(s string) bool { return busy(s) || hexadecimal(s) }
	return drawn(x) && drawn(y)
}

// trimmed returns both words without their common prefix and suffix.
func trimmed(a, b string) (x, y string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func decimal(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(b byte) bool { return !isDigit(b) })
}

// digitsAround returns the digits of s around position at.
func digitsAround(s string, at int) string {
	from, to := at, at
	for from > 0 && isDigit(s[from-1]) {
		from--
	}
	for to < len(s) && isDigit(s[to]) {
		to++
	}
	return s[from:to]
}

// randomNumber reports whether a number is too long for a counter and is no instant of
// virtual time, in any unit.
func randomNumber(digits string) bool {
	if len(digits) < leastDigits {
		return false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return true // longer than any clock's value
	}
	for _, unit := range []time.Duration{time.Nanosecond, time.Microsecond} {
		epoch := uint64(virtualEpoch.UnixNano() / int64(unit))
		around := uint64(virtualDays * 24 * time.Hour / unit)
		if n >= epoch-around && n <= epoch+around {
			return false
		}
	}
	return true
}

// virtualEpoch is when virtual time begins (testing/synctest). A trial's clock is never farther than
// virtualDays from it.
var virtualEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const virtualDays = 30

// leastHex is the minimum length of a random hexadecimal number: instants and counters of 64
// bits are shorter.
const leastHex = 20

// hexadecimal reports whether a text is a hexadecimal number too long for a counter or an instant.
// Such a number may have few letters by chance; then busy does not recognise it.
func hexadecimal(s string) bool {
	return len(s) >= leastHex && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// busy reports whether a text looks random: it changes often between digits, small letters, capitals
// and bytes that are not printable ASCII.
func busy(s string) bool {
	turns, last := 0, 0
	for i := range len(s) {
		class := classOf(s[i])
		if class != 0 && last != 0 && class != last {
			turns++
		}
		if class != 0 {
			last = class
		}
	}
	return turns >= leastTurns
}

// classOf returns the class of a byte for busy; 0 = punctuation, which has none.
func classOf(b byte) int {
	switch {
	case isDigit(b):
		return 1
	case b >= 'a' && b <= 'z':
		return 2
	case b >= 'A' && b <= 'Z':
		return 3
	case b >= 0x7f || b < ' ':
		return 4
	}
	return 0
}
