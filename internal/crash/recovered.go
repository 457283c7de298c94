package crash

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Recovered tells how the code under test ended a call of it, and the stack; "" if the call returned. A
// deferred function calls Recovered: p is what it recovered, and returned says whether the call returned.
func Recovered(p any, returned bool) (did, stack string) {
	switch {
	case p != nil:
		did = fmt.Sprintf("panicked: %v", p)
	case returned:
		return "", ""
	default:
		did = "ended its goroutine, by runtime.Goexit or t.Fatal: expected a returned error"
	}
	return did + culprit(), string(debug.Stack())
}

// culprit returns the place of the panic that is being recovered, or of the call that ended the
// goroutine.
func culprit() string {
	calls := make([]uintptr, 32)
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls)])
	for panicked := false; ; {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "testing.")
		if panicked && !inside {
			return fmt.Sprintf(" (in %s, %s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit"
		if !more {
			return ""
		}
	}
}
