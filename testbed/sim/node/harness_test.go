package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// start is the time at which tests begin: the first instant of every synctest bubble.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newNode(tb testing.TB) *Node {
	tb.Helper()
	n, err := New()
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// at returns the instant ms milliseconds after start.
func at(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }

// do runs a command and returns the reply. Spaces separate the command's arguments; an
// underscore stands for a space in an argument. In the reply, spaces replace the line ends.
func do(s *Session, ms float64, command string) string {
	reply, _ := pushed(s, ms, command)
	return reply
}

func pushed(s *Session, ms float64, command string) (reply string, pushes []Push) {
	args := strings.Fields(command)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "_", " ")
	}
	b, pushes := s.Exec(at(ms), args)
	return line(b), pushes
}

func line(message []byte) string {
	return strings.TrimSpace(strings.ReplaceAll(string(message), "\r\n", " "))
}

// step is a step of a test: a command, the time at which it runs, and the reply that it must
// get.
type step struct {
	ms      float64
	command string
	want    string
}

func play(t *testing.T, s *Session, steps []step) {
	t.Helper()
	for _, st := range steps {
		if got := do(s, st.ms, st.command); got != st.want {
			t.Errorf("at %v ms %q: got %q, want %q", st.ms, st.command, got, st.want)
		}
	}
}

func names(states []history.KeyState) string {
	var all []string
	for _, k := range states {
		all = append(all, k.Key)
	}
	return strings.Join(all, " ")
}

// heard formats each push as "2: message", where 2 is the number of the session.
func heard(pushes []Push) (all []string) {
	for _, p := range pushes {
		all = append(all, fmt.Sprintf("%d: %s", p.To.id, line(p.Message)))
	}
	return all
}
