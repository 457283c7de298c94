package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// drawing adds a client that holds the lock between two times and draws winners, one every
// millisecond. A winner such as {7, 2} is the second winner of round 7.
func (s *story) drawing(from, to float64, client int, seq *int64, winners ...[]int64) {
	s.take(from, client, "OK", setPX("t"+string(rune('0'+client)))...)
	for i, w := range winners {
		*seq++
		op := history.Op{Process: history.Process(client), Client: client, F: history.FWrite, Lock: "lock"}
		op.Type = history.Invoke
		s.entry(from+2+float64(i), op)
		op.Type, op.Value, op.Seq = history.OK, w, *seq
		s.entry(from+2+float64(i), op)
	}
	s.give(to, client, "1", s.cad("t"+string(rune('0'+client)))...)
}

func TestWhatIsDoneAgainByALaterHolderIsTheProgramsFlaw(t *testing.T) {
	first, second, other := []int64{7, 1}, []int64{7, 2}, []int64{8, 1}
	for _, c := range []struct {
		name  string
		draws bool
		tell  func(s *story, seq *int64)
		want  Result
		found int
	}{
		{"another round", true, func(s *story, seq *int64) {
			s.drawing(10, 20, 0, seq, first, second)
			s.drawing(30, 40, 1, seq, other)
		}, Held, 0},
		{"the rest of a round", true, func(s *story, seq *int64) {
			s.drawing(10, 20, 0, seq, first)
			s.drawing(30, 40, 1, seq, second)
		}, Held, 0},
		{"the same round", true, func(s *story, seq *int64) {
			s.drawing(10, 20, 0, seq, first, second)
			s.drawing(30, 40, 1, seq, first, second)
		}, Violated, 1},
		{"a third time", true, func(s *story, seq *int64) {
			s.drawing(10, 20, 0, seq, first)
			s.drawing(30, 40, 1, seq, first)
			s.drawing(50, 60, 2, seq, first)
		}, Violated, 2},
		{"nothing need be done only once", false, func(s *story, seq *int64) {
			s.drawing(10, 20, 0, seq, first)
			s.drawing(30, 40, 1, seq, first)
		}, NotApplicable, 0},
		{"while the first believes that it holds the lock", true, func(s *story, seq *int64) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.evict(12)
			*seq++
			op := history.Op{Process: 0, Client: 0, F: history.FWrite, Lock: "lock", Type: history.Invoke}
			s.entry(13, op)
			op.Type, op.Value, op.Seq = history.OK, first, *seq
			s.entry(13, op)
			s.drawing(30, 40, 1, seq, first)
			s.give(50, 0, "0", s.cad("t0")...)
		}, Held, 0},
	} {
		s, seq := tell(t, "set-nx-px"), int64(0)
		s.e.Claims.Draws = c.draws
		c.tell(s, &seq)
		v := OracleNamed("draws").Judge(t.Context(), s.evidence())
		if v.Result != c.want || len(v.Findings) != c.found {
			t.Errorf("%s: %s %s with %d findings, want %s with %d", c.name, v.Result, v.Why, len(v.Findings), c.want, c.found)
		}
		for _, f := range v.Findings {
			if f.Cause != Unmarked {
				t.Errorf("%s: cause %s: %s", c.name, f.Cause, f.Summary)
			}
		}
	}
}
