// Package crash says what a dead process of ours died of.
//
// A Death comes in: how the process ended, and what it wrote to stderr. A breakdown of
// the code under test goes out, or an error if the death proves nothing about that
// code.
package crash

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Why a worker is killed.
const (
	TooLong    = "the trial did not come to an end" // with all the processor time that it needs
	TooSlow    = "the trial was not over"           // with little of it, or nobody knows how much
	TooMuch    = "the trial was still going on when its processor time was used up"
	Standstill = "the trial's clock stands still"
	Garbled    = "the trial's process does not answer as a worker"
)

// Death is how a process of ours, in which a trial ran, died.
type Death struct {
	Stderr string
	Cut    bool   // the middle of it is lost
	How    string // "exit status 2", "signal: killed"
	Exited bool   // by itself, with a status
	Killed string // why we killed it, "" if somebody else did
	Limit  time.Duration
}

// words say it in one line.
func (d *Death) words() string {
	switch d.Killed {
	case TooLong:
		return fmt.Sprintf("%s within %v of processor time", d.Killed, d.Limit)
	case Garbled, TooMuch:
		return d.Killed
	case TooSlow:
		return fmt.Sprintf("%s when the machine should have been done with it (limit %v)", d.Killed, d.Limit)
	case Standstill:
		if name := waiting(d.Stderr); name != "" {
			return d.Killed + ": " + name + " waits, not for time but for a lock whose owner waits for time"
		}
		return d.Killed + ", and its process does nothing"
	}
	text, _ := panicked(d.Stderr)
	switch {
	case text != "":
		return "the trial's process died: " + text
	case d.Cut:
		return "the trial's process died: " + d.How + "; it wrote so much that why is lost"
	}
	return "the trial's process died: " + d.How
}

// Says is what the death says of the trial, whether a finding or not.
func (d *Death) Says() string {
	b, err := d.Breakdown()
	if err != nil {
		return err.Error()
	}
	return b.Detail
}

// Agreed returns the breakdown if both runs of the trial died alike, else an error. The
// history is the second run's.
func Agreed(first, second *Death) (*testbed.Breakdown, error) {
	a, failure := first.Breakdown()
	b, again := second.Breakdown()
	switch {
	case failure == nil && again == nil && a.Kind == b.Kind:
		if a.Kind == history.FRunaway {
			return a, nil // the first run was waited for longer
		}
		return b, nil
	case failure != nil && again != nil && failure.Error() == again.Error():
		return nil, again
	}
	return nil, fmt.Errorf("%s; when it was run again: %s", first.Says(), second.Says())
}

// Breakdown is what the code under test did, or else why the harness failed.
func (d *Death) Breakdown() (*testbed.Breakdown, error) {
	switch d.Killed {
	case Standstill, TooSlow, TooMuch, Garbled: // on real time, the first would not have happened
		return nil, errors.New(d.words())
	case TooLong:
		return &testbed.Breakdown{Kind: history.FRunaway, Detail: d.words()}, nil
	}
	text, at := panicked(d.Stderr)
	switch {
	case text != "" && harness(at), text == "" && d.Cut:
		return nil, errors.New(d.words())
	case strings.HasPrefix(text, asleep):
		return &testbed.Breakdown{Kind: history.FDeadlock, Detail: text}, nil
	case text != "":
		return &testbed.Breakdown{Kind: history.FPanic, Detail: text}, nil
	case d.Exited:
		return &testbed.Breakdown{Kind: history.FPanic, Detail: "the code under test ended its process: " + d.How}, nil
	}
	return nil, errors.New(d.words())
}

// waiting names the goroutines that wait for a lock in a bubble, from a dump.
func waiting(stderr string) string {
	m := locked.FindStringSubmatch(stderr)
	if m == nil {
		return ""
	}
	for _, c := range call.FindAllStringSubmatch(m[1], -1) {
		if name := c[1]; !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/") {
			return name
		}
	}
	return ""
}

var (
	// locked is a goroutine that waits for a mutex, in a dump.
	locked      = regexp.MustCompile(`(?ms)^goroutine \d+ [^\n]*\[sync\.[^\n(]*, [^\n]*synctest bubble[^\n]*\n(.*?)(?:\n\n|\z)`)
	complaining = regexp.MustCompile(`(?m)^(?:panic|fatal error): `)
	// complaint is the Go runtime's last message, up to the first goroutine.
	complaint = regexp.MustCompile(`(?ms)^((?:panic|fatal error): .*?)\n(?:\[signal[^\n]*\n)?\n?^(goroutine \d+ [^\n]*\[[^\n]*\n.*?)(?:\n\n|\z)`)
	// call is a function and its place, in a stack.
	call = regexp.MustCompile(`(?m)^(\S.*)\([^()\n]*\)\n\t(\S+):(\d+)`)
	// asides are what the runtime adds to the text of a panic.
	asides = regexp.MustCompile(` \[recovered(, repanicked)?\]`)
)

// asleep is the Go runtime's word for a deadlock.
const asleep = "fatal error: all goroutines are asleep"

// panicLimit is how much of a panic's text is worth reading.
const panicLimit = 300

// panicked finds the cause of death in a dead Go process's stderr, as one line that is
// the same for the same panic, and the responsible function: the topmost one of ours,
// recipes included, else anybody's topmost below the runtime.
func panicked(stderr string) (text, at string) {
	// The last one: the process survived earlier ones.
	starts := complaining.FindAllStringIndex(stderr, -1)
	if len(starts) == 0 {
		return "", ""
	}
	m := complaint.FindStringSubmatch(stderr[starts[len(starts)-1][0]:])
	if m == nil {
		return "", ""
	}
	text = testbed.OneLine(asides.ReplaceAllString(m[1], ""))
	if r := []rune(text); len(r) > panicLimit {
		text = string(r[:panicLimit]) + "…"
	}
	stack := m[2]
	if i := strings.LastIndex(stack, "\npanic("); i >= 0 {
		stack = stack[i:] // where it arose, not where it was re-raised
	}
	where := ""
	for _, c := range call.FindAllStringSubmatch(stack, -1) {
		name, file := c[1], c[2]
		if name == "panic" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "created by ") {
			continue
		}
		if where == "" {
			where = fmt.Sprintf(" (in %s, %s:%s)", name, filepath.Base(file), c[3])
			at = name
		}
		if strings.HasSuffix(file, "_test.go") { // of a user's test
			at = ""
			break
		}
		if strings.HasPrefix(name, module) { // the functions that it called are not to blame
			at = name
			break
		}
	}
	return text + where, at
}

// module is how the names of our own functions begin.
const module = "github.com/lockstorm/lockstorm/"

// harness says whether a function is ours, and not a recipe.
func harness(function string) bool {
	rest, ours := strings.CutPrefix(function, module)
	return ours && !strings.HasPrefix(rest, "locks.") && !strings.HasPrefix(rest, "locks/")
}

// FirstLine is the first of a text that is not empty.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
