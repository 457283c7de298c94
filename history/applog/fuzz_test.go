package applog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// FuzzRead checks that any text is either a log, or gives an error of one line that names the line in
// the file. Every reading of a log must be a possible history, sorted by time and without negative
// times. It has at most as many certain spans as possible ones, and at most as many of these as the
// log has holds.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"process,lock,from,to\na,x,2026-03-01T10:00:00.000Z,2026-03-01T10:00:04.120Z\nb,x,2026-03-01T10:00:03+02:00,\n",
		"lock,from,to,process,deadline,mode\nx,1,2,a,3,read\nx,1.5,1.5,\"b, c\",1,write\nx,0,,\" \",,\n",
		"process,lock,from,to\na,x,1,9\na,x,2,3\na,x,4,5.000000001\n",
		"process,lock,from,to\na,x,0,4000000000\n",
		"process,lock,from,from\n", "", "\"", "process;lock", "\xa2 \a#Z\\",
	} {
		f.Add(text, int64(time.Millisecond))
		f.Add(text, int64(0))
	}
	f.Fuzz(func(t *testing.T, text string, clockError int64) {
		log, err := Read([]byte(text), "h.csv")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "h.csv:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: want one line that begins with the file's name", err)
			}
			return
		}
		r := log.Readings(time.Duration(clockError % int64(24*time.Hour)).Abs())
		for what, ops := range map[string][]history.Op{"certain": r.Certain, "possible": r.Possible} {
			if _, err := history.Pairs(ops); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if !slices.IsSortedFunc(ops, func(a, b history.Op) int { return int(min(max(a.Time-b.Time, -1), 1)) }) {
				t.Errorf("%s: times go back: %v", what, ops)
			}
			if len(ops) > 0 && ops[0].Time < 0 {
				t.Errorf("%s: a time is negative: %v", what, ops[0])
			}
		}
		if holds(r.Certain) > holds(r.Possible) || holds(r.Possible) > len(log.Holds) || r.Brief != len(log.Holds)-holds(r.Certain) {
			t.Errorf("%d certain spans, %d possible ones of %d holds, %d brief ones", holds(r.Certain), holds(r.Possible), len(log.Holds), r.Brief)
		}
	})
}

// holds counts the acquires that ended with ok.
func holds(ops []history.Op) (n int) {
	for _, op := range ops {
		if op.F == history.FAcquire && op.Type == history.OK {
			n++
		}
	}
	return n
}
