package external

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// What scripts do to the server is in calls of redis.call and redis.pcall.
var (
	calls = regexp.MustCompile(`\bredis\s*\.\s*p?call\b`)
	// called is what has to follow: the name of a command, and what its first
	// argument begins with.
	called = regexp.MustCompile(`^\s*\(\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*(?:,\s*(KEYS\s*\[|[A-Za-z_]\w*)|\)|,)`)
	// aliases are other ways to get at redis.call.
	aliases = regexp.MustCompile(`\bredis\s*\[|=\s*redis\s*(?:[^.\w\s]|$)|\b(?:loadstring|load|dofile|rawget|getfenv|_G)\b`)
)

// checkScript looks for what a script would do to keys of others. It does not
// understand Lua: it refuses what it cannot see through, and believes that what
// stands in a variable was made of KEYS. Only the server's own access control
// stops a script that means to do harm.
func checkScript(text string) error {
	if aliases.MatchString(text) {
		return errors.New("a script that hides what it calls")
	}
	for _, at := range calls.FindAllStringIndex(text, -1) {
		m := called.FindStringSubmatch(text[at[1]:])
		if m == nil {
			return errors.New("a script that calls a command whose name or key does not stand in the call")
		}
		name := strings.ToUpper(m[1] + m[2])
		r, known := rules[name]
		switch {
		case !known || !r.bare && r.first == 0:
			return fmt.Errorf("a script that calls %q", name)
		case r.first > 0 && m[3] == "":
			return fmt.Errorf("a script that calls %s on a key that is not in KEYS", name)
		}
	}
	return nil
}
