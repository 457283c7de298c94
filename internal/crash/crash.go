// Package crash explains the death of a process in which a trial ran, and reads dumps of a process's goroutines:
// it finds the line at which the code under test waits, or runs, in a bubble of testing/synctest. A dump is the text
// that runtime.Stack returns, and that the Go runtime writes when a process dies. Text around it is ignored.
//
// The input is a Death: how the process ended, and its stderr. The output is a breakdown of the
// code under test, or an error if the death proves nothing about that code.
package crash

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/testbed"
)

// Reasons for killing a worker.
const (
	TooLong    = "the trial did not come to an end" // the trial had enough processor time
	TooSlow    = "the trial was not over"           // the trial had little processor time, or an unknown amount
	TooMuch    = "the trial was still going on when its processor time was used up"
	Standstill = "the trial's clock stands still"
	Garbled    = "the trial's process does not answer as a worker"
)

// Death describes the end of a process in which a trial ran.
type Death struct {
	Stderr string
	Cut    bool   // the middle of Stderr is missing
	How    string // how the process ended: "exit status 2", "signal: killed"
	Exited bool   // the process ended by itself, with an exit status
	Killed string // why the harness killed the process; "" if it did not
	Limit  time.Duration
}

// words describes the death in one line.
func (d *Death) words() string {
	switch d.Killed {
	case TooLong:
		return fmt.Sprintf("%s within %v of processor time", d.Killed, d.Limit) + busy(d.Stderr, "")
	case Garbled, TooMuch:
		return d.Killed
	case TooSlow:
		return fmt.Sprintf("%s when the machine should have been done with it (limit %v)", d.Killed, d.Limit) + busy(d.Stderr, "")
	case Standstill:
		return Stands(d.Stderr, "")
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

// Carried reports whether the code under test died because it used a channel or a timer from outside
// the bubble of testing/synctest in which the trial ran. The code keeps that object from an earlier
// trial of the process, so the death says nothing about this trial.
func (d *Death) Carried() bool {
	text, _ := panicked(d.Stderr)
	return carried.MatchString(text)
}

// Says returns the detail of the breakdown that the death shows, or the reason why there is no
// breakdown.
func (d *Death) Says() string {
	b, err := d.Breakdown()
	if err != nil {
		return err.Error()
	}
	return b.Detail
}

// Agreed returns the breakdown if both runs of the trial died alike, else an error. The history to
// judge is that of the second run.
func Agreed(first, second *Death) (*testbed.Breakdown, error) {
	a, failure := first.Breakdown()
	b, again := second.Breakdown()
	switch {
	case failure == nil && again == nil && a.Kind == b.Kind:
		if a.Kind == history.FRunaway {
			return a, nil // the first death says more: the first run had more time
		}
		return b, nil
	case failure != nil && again != nil && failure.Error() == again.Error():
		return nil, again
	}
	return nil, fmt.Errorf("%s; when it was run again: %s", first.Says(), second.Says())
}

// Breakdown returns how the code under test broke down. The error is testbed.ErrRace after a data
// race; any other error says how the process died if that proves nothing about the code.
func (d *Death) Breakdown() (*testbed.Breakdown, error) {
	switch d.Killed {
	case Standstill, TooSlow, TooMuch, Garbled: // no proof: only a simulated clock can stand still
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
	case d.Exited && Races(d.Stderr) != "": // GORACE=halt_on_error=1 ends the process at the first race
		return nil, testbed.ErrRace
	case d.Exited:
		return &testbed.Breakdown{Kind: history.FPanic, Detail: "the code under test ended its process: " + d.How}, nil
	}
	return nil, errors.New(d.words())
}

// Races returns the first reports of the race detector in a process's stderr, and the number of
// further reports; "" if there are none.
func Races(stderr string) string {
	const most = 2
	all := race.FindAllString(stderr, -1)
	if n := len(all) - most; n > 0 {
		all = append(all[:most], fmt.Sprintf("%d more reports of the race detector are left out\n", n))
	}
	return strings.Join(all, "")
}

// race matches a report of the race detector.
var race = regexp.MustCompile(`(?ms)^={18}\nWARNING: DATA RACE\n.*?^={18}\n`)

// Busy returns a sentence about code in the bubble that never returns. The sentence names the code
// if the dump of goroutines shows it. bubble "" stands for all bubbles.
func Busy(dump, bubble string) string { return TooLong + busy(dump, bubble) }

// busy names the function of the code under test that runs in the dump; "" if none runs.
func busy(dump, bubble string) string {
	for _, g := range ParseGoroutines(dump, bubble) {
		if name := g.Entry(); name != "" && g.Active() {
			return ": " + name + " does not return"
		}
	}
	return ""
}

// Stands returns a sentence about the bubble's clock, which stands still. The sentence gives the
// reason that the dump of goroutines shows. bubble "" stands for all bubbles.
func Stands(dump, bubble string) string { return Standstill + standing(dump, bubble) }

// standing returns the reason, found in the dump, why the clock of a bubble stands still.
func standing(dump, bubble string) string {
	all := ParseGoroutines(dump, bubble)
	stuck := slices.DeleteFunc(slices.Clone(all), func(g Goroutine) bool { return !g.Locked() })
	for _, g := range stuck {
		if name := g.Function(); name != "" {
			return ": " + name + " waits, not for time but for a lock whose owner waits for time" + Where(Lines(stuck))
		}
	}
	stuck = slices.DeleteFunc(all, func(g Goroutine) bool { return g.Durable() || g.Active() })
	if where := Where(Lines(stuck)); where != "" {
		return ": a goroutine waits for something outside the trial: " + stuck[0].State + where
	}
	return ", and its process does nothing"
}

var (
	complaining = regexp.MustCompile(`(?m)^(?:panic|fatal error): `)
	// complaint matches the Go runtime's last message, and the first goroutine after it.
	complaint = regexp.MustCompile(`(?ms)^((?:panic|fatal error): .*?)\n(?:\[signal[^\n]*\n)?\n?^(goroutine \d+ [^\n]*\[[^\n]*\n.*?)(?:\n\n|\z)`)
	// asides matches notes that the runtime adds to the text of a panic.
	asides = regexp.MustCompile(` \[recovered(, repanicked)?\]`)
)

// carried matches the Go runtime's complaints about objects used outside their bubble.
var carried = regexp.MustCompile(`^(?:panic|fatal error): .*synctest .*from outside (?:of )?bubble`)

// asleep begins the Go runtime's message about a deadlock.
const asleep = "fatal error: all goroutines are asleep"

// panicLimit is the maximum length of a panic's text, in characters.
const panicLimit = 300

// panicked finds the cause of death in a dead Go process's stderr. text is one line, the same
// whenever the same panic occurs. at is the responsible function: the topmost function of this
// project or of a recipe, else the topmost function outside the runtime. at is "" if a user's test
// stands on the stack above every function of this project.
func panicked(stderr string) (text, at string) {
	// The last panic counts: the process survived earlier ones.
	starts := complaining.FindAllStringIndex(stderr, -1)
	if len(starts) == 0 {
		return "", ""
	}
	m := complaint.FindStringSubmatch(stderr[starts[len(starts)-1][0]:])
	if m == nil {
		return "", ""
	}
	text = wording.OneLine(asides.ReplaceAllString(m[1], ""))
	if r := []rune(text); len(r) > panicLimit {
		text = string(r[:panicLimit]) + "…"
	}
	stack := m[2]
	if i := strings.LastIndex(stack, "\npanic("); i >= 0 {
		stack = stack[i:] // from where the panic arose, not where it was raised again
	}
	where := ""
	for _, c := range called.FindAllStringSubmatch(stack, -1) {
		name, file := c[1], c[2]
		if name == "panic" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "created by ") {
			continue
		}
		if where == "" {
			where = fmt.Sprintf(" (in %s, %s:%s)", name, filepath.Base(file), c[3])
			at = name
		}
		if strings.HasSuffix(file, "_test.go") { // code of a user's test
			at = ""
			break
		}
		if strings.HasPrefix(name, module) { // functions that this function called are not to blame
			at = name
			break
		}
	}
	return text + where, at
}

// harness reports whether a function belongs to this project, but neither to a recipe nor to
// package locktest, which calls a user's lock.
func harness(function string) bool {
	rest, ours := strings.CutPrefix(function, module)
	return ours && !strings.HasPrefix(rest, "locks.") && !strings.HasPrefix(rest, "locks/") && !strings.HasPrefix(rest, "locktest.")
}

// FirstLine returns the first non-empty line of a text.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
