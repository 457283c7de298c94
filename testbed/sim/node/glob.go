package node

// matches reports whether s matches a glob pattern as Redis reads it: * ? [a-z] [^a] and
// backslashes. As in Redis 7.0, only the empty pattern matches the empty s.
func matches(pattern, s string) bool {
	for pattern != "" && s != "" {
		switch pattern[0] {
		case '*':
			for len(pattern) > 1 && pattern[1] == '*' {
				pattern = pattern[1:]
			}
			if len(pattern) == 1 {
				return true
			}
			for ; s != ""; s = s[1:] {
				if matches(pattern[1:], s) {
					return true
				}
			}
			return false
		case '?':
		case '[':
			var in bool
			if in, pattern = matchClass(pattern[1:], s[0]); !in {
				return false
			}
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			if pattern[0] != s[0] {
				return false
			}
		}
		s = s[1:]
		if pattern != "" {
			pattern = pattern[1:]
		}
		for s == "" && pattern != "" && pattern[0] == '*' {
			pattern = pattern[1:]
		}
	}
	return pattern == "" && s == ""
}

// matchClass reports whether a character is in the class at the start of pattern, after the
// opening bracket. It returns the rest of the pattern from the closing bracket on. An
// unclosed class ends with the pattern.
func matchClass(pattern string, c byte) (in bool, rest string) {
	not := pattern != "" && pattern[0] == '^'
	if not {
		pattern = pattern[1:]
	}
	for pattern != "" && pattern[0] != ']' {
		switch {
		case pattern[0] == '\\' && len(pattern) >= 2:
			in = in || pattern[1] == c
			pattern = pattern[2:]
		case len(pattern) >= 3 && pattern[1] == '-':
			low, high := min(pattern[0], pattern[2]), max(pattern[0], pattern[2])
			in = in || low <= c && c <= high
			pattern = pattern[3:]
		default:
			in = in || pattern[0] == c
			pattern = pattern[1:]
		}
	}
	return in != not, pattern
}
