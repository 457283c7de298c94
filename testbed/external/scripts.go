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
	// What else may be done with the table redis than to call it; anything but that,
	// and the functions below, may be a way to a call that is not seen.
	library  = regexp.MustCompile(`\bredis\b`)
	harmless = regexp.MustCompile(`^\s*\.\s*(?:p?call|sha1hex|error_reply|status_reply|setresp|log|LOG_[A-Z]+)\b`)
	detours  = regexp.MustCompile(`\b(?:loadstring|load|dofile|rawget|getfenv|setfenv|getmetatable|setmetatable|_G)\b`)
)

// checkScript looks for what a script would do to keys of others. It does not
// understand Lua: it refuses what it cannot see through, and believes that what
// stands in a variable was made of KEYS. Only the server's own access control
// stops a script that means to do harm.
func checkScript(text string) error {
	hides := detours.MatchString(text)
	for _, at := range library.FindAllStringIndex(text, -1) {
		hides = hides || !harmless.MatchString(text[at[1]:])
	}
	if hides {
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
