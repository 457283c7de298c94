// Package wording has small pieces of text for messages and reports.
package wording

import (
	"bytes"
	"strings"
)

// Plural returns the word, with an s unless n is 1.
func Plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// YesNo returns "yes" or "no".
func YesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// Join returns the values, separated by commas.
func Join[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

// Excerpt returns at most the first 40 bytes of a value, with "…" if it is longer.
func Excerpt(raw []byte) string {
	const most = 40
	if len(raw) > most {
		return string(bytes.ToValidUTF8(raw[:most], nil)) + "…"
	}
	return string(bytes.ToValidUTF8(raw, nil))
}
