package gate

import (
	"slices"
	"strings"
	"testing"
)

func TestPasswordsAreNotLogged(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		sent := []string{
			"AUTH hunter2", "auth alice hunter2", "HELLO 3 auth alice hunter2 SETNAME x", "HELLO 2", "CLIENT SETNAME AUTH x", "SET AUTH hunter2",
		}
		w.do(sent...)
		if arrived := w.seen(); !slices.Equal(arrived, sent) {
			t.Errorf("arrived: got %q, want %q", arrived, sent)
		}
		w.gate.Close()
		w.gate.Flush()
		var got []string
		for _, c := range w.commands {
			got = append(got, words(c.Args))
		}
		want := []string{
			"AUTH (redacted)", "auth (redacted) (redacted)", "HELLO 3 auth (redacted) (redacted) (redacted) (redacted)", "HELLO 2",
			"CLIENT SETNAME AUTH x", "SET AUTH hunter2",
		}
		if !slices.Equal(got, want) {
			t.Errorf("logged: got %q, want %q", strings.Join(got, "; "), strings.Join(want, "; "))
		}
	})
}
