package story

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

func numbers(values []int64) string {
	var all []string
	for _, v := range values {
		all = append(all, strconv.FormatInt(v, 10))
	}
	return strings.Join(all, ", ")
}

// ShortArg shortens an argument to one printable word. The word is long enough to tell tokens
// apart.
func ShortArg(s string) string {
	s = wording.Printable(s)
	if r := []rune(s); len(r) > 24 {
		s = string(r[:10]) + "…"
	}
	if s == "" {
		return `""`
	}
	return s
}

// commandName returns the name of a command or, for a script, of the script.
func (t *teller) commandName(c history.Command) string {
	if name := scriptName(c, t.Claims.ScriptNames); name != "" {
		return "script " + name
	}
	if scripted(c) {
		return "script"
	}
	if len(c.Args) == 0 {
		return "a command"
	}
	return strings.ToUpper(string(c.Args[0]))
}

func keyNames(keys []history.KeyState) string {
	var names []string
	for _, k := range keys {
		names = append(names, wording.Printable(k.Key))
	}
	return wording.List(names)
}

func offsetWords(d time.Duration) string {
	switch {
	case d > 0:
		return wording.Length(d) + " ahead"
	case d < 0:
		return wording.Length(-d) + " behind"
	}
	return "right again"
}

// many returns a count in words, such as "once" or "2 times".
func many(n int, word string) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// scriptName returns the name of the script that a command ran; "" if the script has no name or
// the command ran no script.
func scriptName(c history.Command, names map[string]string) string {
	sha, _ := c.Script()
	return names[sha]
}

func scripted(c history.Command) bool {
	_, ok := c.Script()
	return ok
}

// Words writes findings as sentences, with the time format of stories.
var Words = checker.Style{Instant: wording.Instant, Length: wording.Length}

func quoted(lock string) string {
	if lock == "" {
		return "the lock"
	}
	return `"` + lock + `"`
}

func clientNames(clients []int) []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = history.ClientName(c)
	}
	slices.SortFunc(names, wording.ByNumber)
	return names
}
