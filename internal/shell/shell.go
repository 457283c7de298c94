// Package shell writes command lines that can be pasted into a POSIX shell.
package shell

import (
	"strings"
	"unicode"
)

// Join quotes words where needed and puts spaces between them.
func Join(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote quotes a word if a shell would not take it as it is.
func Quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special says whether a shell may give r a special meaning.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:=@,", r)
}
