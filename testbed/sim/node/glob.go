package node

// matches tells whether s matches a glob pattern as Redis reads it: * ? [a-z] [^a]
// and backslashes.
func matches(pattern, s string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			for pattern != "" && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			if pattern == "" {
				return true
			}
			for ; s != ""; s = s[1:] {
				if matches(pattern, s) {
					return true
				}
			}
			return false
		case '[':
			if s == "" {
				return false
			}
			var in bool
			if in, pattern = matchClass(pattern[1:], s[0]); !in {
				return false
			}
			s = s[1:]
			continue
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if s == "" || s[0] != pattern[0] {
				return false
			}
		case '?':
			if s == "" {
				return false
			}
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}

// matchClass matches a character with a class, whose bracket is open, and returns
// the pattern after it. A class that is not closed ends with the pattern.
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
	if pattern != "" {
		pattern = pattern[1:]
	}
	return in != not, pattern
}
