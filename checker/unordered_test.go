package checker

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// unseen takes from the commands what only who stands at the node can see.
func unseen(s *story) {
	for i := range s.e.Commands {
		c := &s.e.Commands[i]
		c.Exec, c.Arrived, c.Served = 0, 0, 0
	}
}

// existsAndSet lets two clients pass EXISTS; the second sets at that time.
func existsAndSet(s *story, second float64) {
	s.invoke(9, 0, history.FAcquire)
	s.invoke(9, 1, history.FAcquire)
	s.cmd(10, 0, "0", "EXISTS", "lock")
	s.cmd(11, 1, "0", "EXISTS", "lock")
	s.cmd(12, 0, "OK", "SET", "lock", "1")
	s.cmd(second, 1, "OK", "SET", "lock", "1")
	s.done(15, 0, history.OK)
	s.done(15, 1, history.OK)
	s.give(50, 0, "1", "DEL", "lock")
	s.give(60, 1, "0", "DEL", "lock")
	unseen(s)
}

func TestOfWhatOverlapsUnseenNobodyTellsWhichRanFirst(t *testing.T) {
	tales(t, []tale{
		{"one after the other", "exists-set", func(s *story) { existsAndSet(s, 13) },
			[]string{"exclusion: race", "ownership: foreign-delete"}},
		{"at one time", "exists-set", func(s *story) { existsAndSet(s, 12.1) },
			[]string{"exclusion: unclassified", "ownership: unknown"}},
	})
}

func TestWhereNobodyLooksNothingIsSaidNeverToHaveArrived(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.invoke(9, 0, history.FAcquire)
	s.lost(10, 0, setPX("t0")...)
	s.take(20, 1, "OK", setPX("t1")...)
	for _, seen := range []bool{true, false} {
		if !seen {
			unseen(s)
		}
		l, err := newLedger(newCaseFile(s.evidence()))
		if err != nil {
			t.Fatal(err)
		}
		if why := readWire(l).unanswering(0); strings.Contains(why, "never reached") != seen {
			t.Errorf("seen %t: got %q", seen, why)
		}
	}
}

// TestASetThatRanWhereNoKeyWasTookEffect is about nodes that tell what they ran and
// not what they answered.
func TestASetThatRanWhereNoKeyWasTookEffect(t *testing.T) {
	orphan := func(before func(*story)) func(*story) {
		return func(s *story) {
			before(s)
			s.invoke(39, 0, history.FAcquire)
			c := s.cmd(40, 0, "", setPX("t0")...)
			c.Replied = 0
			s.done(300, 0, history.Info)
			s.queue(310, 900, 1, "nil", setPX("t1")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}
	}
	tales(t, []tale{
		{"nobody had set it", "set-nx-px", orphan(func(*story) {}), []string{"liveness: orphaned-key"}},
		{"it was deleted", "set-nx-px", orphan(func(s *story) {
			s.take(10, 1, "OK", setPX("t2")...)
			s.give(20, 1, "1", s.cad("t2")...)
		}), []string{"liveness: orphaned-key"}},
	})
}
