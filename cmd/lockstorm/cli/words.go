package cli

import (
	"errors"
	"strings"
)

// shellWords splits a command line into words as a POSIX shell does, without expansions: blanks separate words,
// and quotes and backslashes keep characters. It is the inverse of wording.Command. The error says that a quote is
// not closed.
func shellWords(command string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	in, escaped := false, false
	for _, r := range command {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			in, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in, quote = true, r
		case strings.ContainsRune(" \t\n", r):
			if in {
				words = append(words, word.String())
			}
			in = false
			word.Reset()
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
