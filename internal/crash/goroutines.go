package crash

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Goroutine is one goroutine of a dump.
type Goroutine struct {
	ID string
	// State is what the goroutine does: "running", "select (durable)", "sync.Mutex.Lock".
	State string
	// Bubble identifies the goroutine's bubble in its process; "" = none.
	Bubble string
	// calls are the goroutine's active calls, the innermost first.
	calls []call
}

type call struct{ function, file, line string }

// Goroutines returns a dump of this process, up to 16 megabytes. It stops the process meanwhile.
func Goroutines() string {
	for size := 1 << 20; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size || size >= 16<<20 {
			return string(b[:n])
		}
	}
}

// Bubble returns the bubble of the calling goroutine; "" = none.
func Bubble() string {
	b := make([]byte, 256)
	m := header.FindStringSubmatch(string(b[:runtime.Stack(b, false)]))
	if m == nil {
		return ""
	}
	_, bubble := status(m[2])
	return bubble
}

var (
	header = regexp.MustCompile(`^goroutine (\d+) [^\n\[]*\[([^\]\n]*)\]:`)
	// called matches a function and its place, in a stack.
	called = regexp.MustCompile(`(?m)^(\S.*)\([^()\n]*\)\n\t(\S+):(\d+)`)
)

// ParseGoroutines returns the goroutines of a dump that are in the given bubble, or in any bubble if bubble
// is "".
func ParseGoroutines(dump, bubble string) (all []Goroutine) {
	for text := range strings.SplitSeq(dump, "\n\n") {
		// Before the first goroutine, a dump may have other lines.
		if i := strings.Index("\n"+text, "\ngoroutine "); i > 0 {
			text = text[i:]
		}
		m := header.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		g := Goroutine{ID: m[1]}
		if g.State, g.Bubble = status(m[2]); g.Bubble == "" || bubble != "" && g.Bubble != bubble {
			continue
		}
		for _, c := range called.FindAllStringSubmatch(text, -1) {
			g.calls = append(g.calls, call{c[1], c[2], c[3]})
		}
		all = append(all, g)
	}
	return all
}

// status splits the text in a dump's brackets: "select (durable), 3 minutes, synctest bubble 1".
func status(brackets string) (state, bubble string) {
	parts := strings.Split(brackets, ", ")
	for _, p := range parts[1:] {
		if id, ok := strings.CutPrefix(p, "synctest bubble "); ok {
			bubble = id
		}
	}
	return parts[0], bubble
}

// Durable reports whether the goroutine waits in a way that lets its bubble's clock advance.
func (g Goroutine) Durable() bool { return strings.HasSuffix(g.State, "(durable)") }

// Locked reports whether the goroutine waits for a sync.Mutex or a sync.RWMutex. Such a wait is never
// Durable.
func (g Goroutine) Locked() bool {
	return strings.HasPrefix(g.State, "sync.Mutex.") || strings.HasPrefix(g.State, "sync.RWMutex.")
}

// Active reports whether the goroutine runs, or is about to run.
func (g Goroutine) Active() bool {
	return slices.Contains([]string{"running", "runnable", "preempted", "copystack", "waiting"}, g.State) || strings.HasPrefix(g.State, "GC ")
}

// Function returns the innermost function that is not in the standard library; "" = none.
func (g Goroutine) Function() string {
	for _, c := range g.calls {
		if !standard(c.function) {
			return c.function
		}
	}
	return ""
}

// Line returns the innermost call in the code under test, as "F, file.go:12"; "" = the goroutine
// has no such call.
func (g Goroutine) Line() string {
	i := slices.IndexFunc(g.calls, call.tested)
	if i < 0 {
		return ""
	}
	return g.calls[i].words()
}

// Entry returns the function with which the goroutine entered the code under test: this project
// called it, or the goroutine began with it. If package locktest called it, Entry also names the
// function of locktest. "" = the goroutine is not in the code under test. Unlike Line, Entry returns
// the same text at whatever moment of the call the dump is made.
func (g Goroutine) Entry() string {
	entry := ""
	for _, c := range g.calls {
		switch {
		case c.tested():
			entry = c.function
		case entry == "" || !strings.HasPrefix(c.function, module):
		case strings.HasPrefix(c.function, module+"locktest."):
			return entry + ", called by " + strings.TrimPrefix(c.function, module) + ","
		default:
			return entry
		}
	}
	return entry
}

// Lines returns the places of goroutines in the code under test, sorted, each place once. If there
// are none, it returns the innermost library call in each client's goroutine.
func Lines(all []Goroutine) (lines []string) {
	for _, g := range all {
		lines = append(lines, g.Line())
	}
	lines = distinct(lines)
	if len(lines) > 0 {
		return lines
	}
	for _, g := range all {
		if !slices.ContainsFunc(g.calls, call.byClient) {
			continue
		}
		if i := slices.IndexFunc(g.calls, call.foreign); i >= 0 {
			lines = append(lines, g.calls[i].words())
		}
	}
	return distinct(lines)
}

// Where returns the lines for the end of a sentence: " (in F, f.go:12; in G, g.go:3)"; "" if there
// are none. It lists three lines and counts the rest.
func Where(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	const most = 3
	rest := ""
	if n := len(lines) - most; n > 0 {
		lines, rest = lines[:most], fmt.Sprintf("; and %d more", n)
	}
	return " (in " + strings.Join(lines, "; in ") + rest + ")"
}

// distinct returns the nonempty texts, sorted, each once.
func distinct(texts []string) []string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}

func (c call) words() string { return fmt.Sprintf("%s, %s:%s", c.function, path.Base(c.file), c.line) }

// module is the prefix of the names of this project's packages and functions.
const module = "github.com/lockstorm/lockstorm/"

// tested reports whether the call is in the code under test: in a recipe, or in a module
// that is no dependency of the program.
func (c call) tested() bool {
	if strings.HasPrefix(c.function, module+"locks.") || strings.HasPrefix(c.function, module+"locks/") {
		return true
	}
	return c.foreign() && !strings.Contains(c.file, "@") && !strings.Contains(c.file, "/vendor/")
}

// foreign reports whether the call is neither in the standard library nor in this project. A call
// in a user's test is foreign even if the test's package has a name of this project.
func (c call) foreign() bool {
	if strings.HasPrefix(c.function, module) || strings.HasPrefix(c.function, "golang.org/x/sync/") {
		return strings.HasSuffix(c.file, "_test.go")
	}
	return !standard(c.function)
}

// byClient reports whether the call is in a workload. Workloads make the clients' calls of locks.
func (c call) byClient() bool { return strings.HasPrefix(c.function, module+"workloads.") }

// standard reports whether a function is in the standard library, whose import paths have no
// dot in their first element.
func standard(function string) bool {
	first, _, nested := strings.Cut(function, "/")
	if !nested {
		first, _, _ = strings.Cut(function, ".")
	}
	return !strings.Contains(first, ".") && first != "main" && !strings.HasPrefix(function, program())
}

// program returns the path of the program's main module; "." if unknown. The path may lack a dot, as
// import paths of the standard library do.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return "."
	}
	return info.Main.Path
}
