package story

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// A command is repeated if it ran, its reply was lost, and the same operation sent it again.
func TestARepeatedCommandIsOneThatRanUnanswered(t *testing.T) {
	sent := func(op int, answered, ran bool, key string) history.Command {
		c := history.Command{Node: "n0", Op: op, Args: []history.Bytes{"EVALSHA", "leave", "1", history.Bytes(key)}, Sent: time.Millisecond}
		if ran {
			c.Exec, c.Arrived, c.Served = 1, 2*time.Millisecond, 2*time.Millisecond
		}
		if answered {
			c.Replied = 3 * time.Millisecond
		}
		return c
	}
	for name, c := range map[string]struct {
		commands []history.Command
		cast     []int
		want     bool
	}{
		"after a lost reply":           {[]history.Command{sent(7, false, true, "a"), sent(7, true, true, "a")}, []int{0}, true},
		"after a reply":                {[]history.Command{sent(7, true, true, "a"), sent(7, true, true, "a")}, []int{0}, false},
		"after a request that is gone": {[]history.Command{sent(7, false, false, "a"), sent(7, true, true, "a")}, []int{0}, false},
		"in another operation":         {[]history.Command{sent(7, false, true, "a"), sent(8, true, true, "a")}, []int{0}, false},
		"another command":              {[]history.Command{sent(7, false, true, "a"), sent(7, true, true, "b")}, []int{0}, false},
		"by somebody else":             {[]history.Command{sent(7, false, true, "a"), sent(7, true, true, "a")}, []int{1}, false},
	} {
		x := &teller{Focus: Focus{Cast: c.cast}}
		x.Commands = c.commands
		if got := x.repeated(); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
