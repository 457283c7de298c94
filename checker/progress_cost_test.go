package checker

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
)

func TestWhatALockCostsIsMeasured(t *testing.T) {
	set := func(token string) []string { return []string{"SET", "lock", token, "PX", "1000", "NX"} }
	s := tell(t, "set-nx-px")
	s.take(10, 0, "OK", set("t0")...)
	s.busy(30, 1, "nil", set("t1")...)
	s.busy(50, 1, "nil", set("t2")...)
	s.give(110, 0, "1", s.cad("t0")...)
	s.take(120, 1, "OK", set("t3")...)
	s.give(219, 1, "1", s.cad("t3")...)
	s.busy(300, 0, "OK", set("t4")...) // the key is set, but no client believes in this grant
	e := s.evidence()
	for i := range e.Commands {
		e.Commands[i].N = 1
	}
	e.Commands = append(e.Commands, history.Command{Index: len(e.Commands), Client: 0, Node: "n0", Op: -1, Args: []history.Bytes{"PING"}, Sent: ms(50), Served: ms(51)})
	p := progress.Measure(e)
	if p.Commands != 7 || p.GrantCommandsMedian != 3 || p.GrantCommandsMax != 4 {
		t.Errorf("%d commands, %d and at most %d a grant; want 7, 3 and 4", p.Commands, p.GrantCommandsMedian, p.GrantCommandsMax)
	}
	// c0 held the lock from 11 to 109 ms, and c1 asked for it twice meanwhile. c1 held it from 121 to
	// 218 ms.
	if p.HeldCommands != 2 || p.HeldTime != 195*time.Millisecond {
		t.Errorf("%d commands in %v of holding, want 2 in 195ms", p.HeldCommands, p.HeldTime)
	}
	if rate := p.HeldRate(); rate < 10.2 || rate > 10.3 {
		t.Errorf("%v commands a second, want 10.26", rate)
	}
}
