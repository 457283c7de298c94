package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports"
)

// output is where the program writes, and how.
type output struct {
	stdout, stderr io.Writer
	// lookup reads the environment; nil = no variable is set.
	lookup func(variable string) (string, bool)
	// program is the program's name as it was called; "" = lockstorm.
	program string
}

// environment returns the value of an environment variable; "" if it is not set.
func (a *output) environment(variable string) string {
	if a.lookup == nil {
		return ""
	}
	value, _ := a.lookup(variable)
	return value
}

// width returns the number of columns of w: the terminal's width, else the value of COLUMNS; 0 =
// unlimited, if neither is known.
func (a *output) width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	n, err := strconv.Atoi(a.environment("COLUMNS"))
	if err != nil {
		return 0
	}
	return max(0, n)
}

// colour says whether output to w may be coloured: w is a terminal, and the user has not opted out
// (https://no-color.org).
func (a *output) colour(w io.Writer) bool { return a.environment("NO_COLOR") == "" && terminal(w) }

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// screen describes w as an output for a matrix.
func (a *output) screen(w io.Writer) reports.Screen {
	return reports.Screen{Color: a.colour(w), Width: a.width(w), Program: a.program}
}

// say prints a line. A line wider than w is wrapped, and its further lines are indented.
func (a *output) say(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, wording.Fill(fmt.Sprintf(format, args...), "  ", a.width(w)))
}

// sayCommand prints a command line, indented, that the user can paste. It begins with the
// program's name as the user called it.
func (a *output) sayCommand(w io.Writer, command string) {
	const indent = "  "
	width := a.width(w)
	if width > 0 {
		width = max(1, width-len(indent))
	}
	lines := wording.CommandLines(wording.As(command, a.program), indent, width)
	fmt.Fprintln(w, indent+strings.ReplaceAll(lines, "\n", "\n"+indent))
}

// calledAs returns the program's name for command lines, as the user called it. It returns "" for
// a program of go run, because that binary is removed when the program ends.
func calledAs(args []string) string {
	if len(args) == 0 || args[0] == "" || strings.Contains(filepath.ToSlash(args[0]), "/go-build") {
		return ""
	}
	return args[0]
}
