package nemesis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// String is the trigger in words: "c0 or c1 before the 2nd command of acquire to n0".
func (t Trigger) String() string {
	var who []string
	for _, c := range t.Clients {
		who = append(who, clientName(c))
	}
	s := strings.Join(who, " or ")
	switch t.Who {
	case Other:
		s = "another client"
	case Same:
		s = "the same client"
	}
	if t.N == 0 {
		s += " at the beginning of " + t.Step
	} else {
		s += fmt.Sprintf(" %s command of %s", whenWords(t.When, t.N), t.Step)
		if t.Node != "" {
			s += " to " + t.Node
		}
	}
	if t.Skip > 0 {
		s += fmt.Sprintf(", after %d others", t.Skip)
	}
	return s
}

func whenWords(when testbed.When, n int) string {
	switch when {
	case testbed.Before:
		return "before the " + ordinal(n)
	case testbed.Sent:
		return "having sent the " + ordinal(n)
	}
	return "at the reply to the " + ordinal(n)
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return strconv.Itoa(n) + "st"
	case n%10 == 2:
		return strconv.Itoa(n) + "nd"
	case n%10 == 3:
		return strconv.Itoa(n) + "rd"
	}
	return strconv.Itoa(n) + "th"
}

// planned is when the action starts and ends, in words.
func (a Action) planned() string {
	var parts []string
	if a.At > 0 {
		parts = append(parts, "not before "+instant(a.At))
	}
	if a.After > 0 {
		after := fmt.Sprintf("after fault %d", a.After)
		if a.Delay > 0 {
			after = fmt.Sprintf("%s %s", span(a.Delay), after)
		}
		parts = append(parts, after)
	}
	if a.Arm != nil {
		parts = append(parts, "once "+a.Arm.String())
	}
	if a.Point != nil {
		parts = append(parts, a.Point.String())
	}
	switch {
	case a.Until != nil && a.For > 0:
		parts = append(parts, fmt.Sprintf("for %s and until %s, at most %s", span(a.For), *a.Until, span(a.Limit)))
	case a.Until != nil:
		parts = append(parts, fmt.Sprintf("until %s, at most %s", *a.Until, span(a.Limit)))
	case a.For > 0:
		parts = append(parts, "for "+span(a.For))
	}
	return strings.Join(parts, ", ")
}

// command is a command in a few words: its name and its key.
func command(c history.Command) string {
	if len(c.Args) == 0 {
		return ""
	}
	name, key := strings.ToUpper(string(c.Args[0])), 1
	if name == "EVAL" || name == "EVALSHA" {
		key = 3
	}
	if key >= len(c.Args) {
		return name
	}
	return name + " " + string(c.Args[key])
}

func clientName(i int) string { return "c" + strconv.Itoa(i) }

func clientNames(clients []int) []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = clientName(c)
	}
	return names
}

// instant is a time of the history in words.
func instant(t time.Duration) string { return fmt.Sprintf("%.3fs", t.Seconds()) }

// span is a length of time in words.
func span(d time.Duration) string { return d.Round(time.Millisecond).String() }

// plural is "1 message", "2 messages".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
