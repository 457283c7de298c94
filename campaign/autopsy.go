package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// autopsy makes a trial of what a dead worker left in the task's folder: its
// history ends with how it died.
func autopsy(ctx context.Context, t task, how *death) (done, error) {
	d := done{Trial: Trial{Spec: t.Spec, Probe: t.Probe}, Died: true}
	broken, failure := how.breakdown()
	e, err := left(t, broken)
	if err != nil {
		return d, err
	}
	recipe, _ := locks.ByID(t.Spec.Lock)
	rec := newTape(t.Folder, storedSpec{Spec: t.Spec, Claims: e.Claims})
	rec.copy(e.Ops)
	if d.Trial.Hash, err = rec.close(e); err != nil {
		return d, err
	}
	d.judge(ctx, recipe, e, failure)
	if err := ctx.Err(); err != nil {
		return d, err
	}
	if n := len(e.Ops); n > 0 {
		d.Trial.Virtual = e.Ops[n-1].Time
	}
	t.Stream = false
	return d, d.store(t, rec, &testbed.Breakdown{Stack: how.stderr})
}

// left is the evidence in the task's folder, with the end of its history.
func left(t task, broken *testbed.Breakdown) (history.Evidence, error) {
	recipe, _ := locks.ByID(t.Spec.Lock)
	e := history.Evidence{Claims: t.Spec.claims(recipe)}
	if _, err := os.Stat(filepath.Join(t.Folder, HistoryFile)); err == nil {
		r, err := LoadRecord(t.Folder)
		if err != nil {
			return e, err
		}
		e.Ops, e.Commands = r.Evidence.Ops, r.Evidence.Commands
	}
	if broken != nil {
		op := broken.Event()
		op.Index, op.Type = len(e.Ops), history.Info
		if op.Index > 0 {
			op.Time = e.Ops[op.Index-1].Time
		}
		e.Ops = append(e.Ops, op)
	}
	return e, nil
}

// breakdown is what the code under test did, or else why the harness failed.
func (d *death) breakdown() (*testbed.Breakdown, error) {
	switch d.killed {
	case standstill: // which real time would not have done
		return nil, errors.New(d.words() + waiting(d.stderr))
	case tooLong:
		return &testbed.Breakdown{Kind: history.FRunaway, Detail: d.words()}, nil
	}
	text, at := panicked(d.stderr)
	switch {
	case text != "" && harness(at):
		return nil, errors.New(d.words())
	case strings.Contains(text, "deadlock"):
		return &testbed.Breakdown{Kind: history.FDeadlock, Detail: text}, nil
	case text != "":
		return &testbed.Breakdown{Kind: history.FPanic, Detail: text}, nil
	case d.exited:
		return &testbed.Breakdown{Kind: history.FPanic, Detail: "the code under test ended its process: " + d.how}, nil
	}
	return nil, errors.New(d.words())
}

// waiting names who waits for a lock in a bubble, from a dump of goroutines.
func waiting(stderr string) string {
	m := locked.FindStringSubmatch(stderr)
	if m == nil {
		return ""
	}
	for _, c := range call.FindAllStringSubmatch(m[1], -1) {
		if name := c[1]; !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/") {
			return " (in " + name + ")"
		}
	}
	return ""
}

var (
	// locked is a goroutine that waits for a mutex, in a dump.
	locked = regexp.MustCompile(`(?ms)^goroutine \d+ [^\n]*\[sync\.[^\n(]*, [^\n]*synctest bubble[^\n]*\n(.*?)(?:\n\n|\z)`)
	// complaint is the Go runtime's last word, up to the first goroutine.
	complaint = regexp.MustCompile(`(?ms)^((?:panic|fatal error): .*?)\n(?:\[signal[^\n]*\n)?\n?^(goroutine \d+ [^\n]*\[[^\n]*\n.*?)(?:\n\n|\z)`)
	// call is a function and its place, in a stack.
	call = regexp.MustCompile(`(?m)^(\S.*)\([^()\n]*\)\n\t(\S+):(\d+)`)
	// asides are what the runtime adds to the text of a panic.
	asides = regexp.MustCompile(` \[recovered(, repanicked)?\]`)
)

// panicLimit is how much of a panic's text is worth reading.
const panicLimit = 300

// panicked finds in a dead Go process's stderr what it died of, in one line that
// is the same for the same panic, and the topmost function below the runtime's.
func panicked(stderr string) (text, at string) {
	m := complaint.FindStringSubmatch(stderr)
	if m == nil {
		return "", ""
	}
	text = testbed.OneLine(asides.ReplaceAllString(m[1], ""))
	if r := []rune(text); len(r) > panicLimit {
		text = string(r[:panicLimit]) + "…"
	}
	stack := m[2]
	if i := strings.LastIndex(stack, "\npanic("); i >= 0 {
		stack = stack[i:] // where it arose, not where it was passed on
	}
	for _, c := range call.FindAllStringSubmatch(stack, -1) {
		name, file := c[1], c[2]
		if name == "panic" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "created by ") {
			continue
		}
		if strings.HasSuffix(file, "_test.go") {
			at = "" // of a user's test
		} else {
			at = name
		}
		return fmt.Sprintf("%s (in %s, %s:%s)", text, name, filepath.Base(file), c[3]), at
	}
	return text, ""
}

// harness says whether a function is ours, and not a recipe.
func harness(function string) bool {
	rest, ours := strings.CutPrefix(function, "github.com/lockstorm/lockstorm/")
	return ours && !strings.HasPrefix(rest, "locks.") && !strings.HasPrefix(rest, "locks/")
}

// firstLine is the first of a text that is not empty.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
