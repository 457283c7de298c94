package node_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts the comparisons of one command: all replies, the error replies among them, and the
// listed differences.
type tally struct{ replies, errors, listed int }

// coverage counts comparisons by command, by option and by script.
type coverage struct {
	tallies    map[string]*tally
	exceptions map[string]int // number of differences by the exception's ID
	heard      int            // number of pushed messages that were compared
	scripts    int            // number of scripts of commands
}

func newCoverage() *coverage {
	return &coverage{tallies: map[string]*tally{}, exceptions: map[string]int{}}
}

func (c *coverage) of(name string) *tally {
	if c.tallies[name] == nil {
		c.tallies[name] = &tally{}
	}
	return c.tallies[name]
}

// compared counts a comparison, as an error if Redis replied with an error.
func (c *coverage) compared(name string, reply value) {
	t := c.of(name)
	t.replies++
	if reply.kind == '-' {
		t.errors++
	}
}

func (c *coverage) listed(name, exception string) {
	c.of(name).listed++
	c.exceptions[exception]++
}

func (c *coverage) add(more *coverage) {
	for name, t := range more.tallies {
		sum := c.of(name)
		sum.replies += t.replies
		sum.errors += t.errors
		sum.listed += t.listed
	}
	for id, n := range more.exceptions {
		c.exceptions[id] += n
	}
	c.heard += more.heard
	c.scripts++
}

// missing returns the declared names that were never compared, or only with errors.
func (c *coverage) missing(declared []string) []string {
	var missing []string
	for _, name := range declared {
		if t := c.tallies[name]; t == nil || t.replies == t.errors {
			missing = append(missing, name)
		}
	}
	return missing
}

// String returns the coverage as a table.
func (c *coverage) String() string {
	var b strings.Builder
	total := 0
	fmt.Fprintf(&b, "\n%-36s %9s %9s %9s\n", "command", "replies", "of errors", "listed")
	for _, name := range slices.Sorted(maps.Keys(c.tallies)) {
		t := c.tallies[name]
		fmt.Fprintf(&b, "%-36s %9d %9d %9d\n", name, t.replies, t.errors, t.listed)
		if command, _, part := strings.Cut(name, " "); !part || slices.Contains([]string{"CLIENT", "SCRIPT", "PUBSUB"}, command) {
			total += t.replies
		}
	}
	fmt.Fprintf(&b, "%d scripts of commands, %d replies and %d unasked messages compared", c.scripts, total, c.heard)
	for _, id := range slices.Sorted(maps.Keys(c.exceptions)) {
		fmt.Fprintf(&b, "\nlisted difference %s: %d times", id, c.exceptions[id])
	}
	return b.String()
}
