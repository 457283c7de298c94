package locktest

import (
	"flag"
	"regexp"
	"strings"
)

// value returns the value of a flag of go test, or "" if the program has no such flag.
func value(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// chosen returns how many of a test's faults share the budget, at least 1. These are the faults
// whose subtests the values of -run and -skip choose.
func chosen(test, run, skip string, faults []string) int {
	n := 0
	for _, fault := range faults {
		name := strings.Split(test+"/"+fault, "/")
		if (run == "" || matches(run, name, false)) && (skip == "" || !matches(skip, name, true)) {
			n++
		}
	}
	return max(1, n)
}

// matches reports whether a pattern of -run or -skip matches a test, as package testing does. The
// name is split into its elements. If whole is set, the pattern must not have more elements than
// the name. An element that is no regular expression matches nothing: go test refuses such a
// pattern anyway.
func matches(pattern string, name []string, whole bool) bool {
	for _, alternative := range splitOutside(pattern, '|') {
		parts := splitOutside(alternative, '/')
		ok := !whole || len(parts) <= len(name)
		for i := 0; ok && i < min(len(parts), len(name)); i++ {
			re, err := regexp.Compile(strings.ReplaceAll(parts[i], " ", "_")) // names have no spaces
			ok = err == nil && re.MatchString(name[i])
		}
		if ok {
			return true
		}
	}
	return false
}

// splitOutside splits a pattern at each separator that is outside of brackets and parentheses.
func splitOutside(pattern string, separator byte) []string {
	var parts []string
	begin, brackets, parens := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			brackets++
		case c == ']':
			brackets = max(0, brackets-1)
		case c == '(' && brackets == 0:
			parens++
		case c == ')' && brackets == 0:
			parens--
		case c == separator && brackets == 0 && parens == 0:
			parts, begin = append(parts, pattern[begin:i]), i+1
		}
	}
	return append(parts, pattern[begin:])
}
