package applog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// FuzzRead checks that any text is either a log, or gives an error that names the file. Every
// reading of a log must be a possible history, sorted by time and without negative times. It has at
// most as many certain spans as possible ones, and at most as many of these as the log has holds.
func FuzzRead(f *testing.F) {
	for _, seed := range []struct{ text, name string }{
		{"client,lock,from,to\na,x,2026-03-01T10:00:00.000Z,2026-03-01T10:00:04.120Z\nb,x,2026-03-01T10:00:03Z,\n", "h.csv"},
		{"\ufeffclient,lock,from_s,to_s\na,x,1,2\n", "h.csv"},
		{"client\tfrom_ms\tto_ms\tdeadline_ms\na\t1\t2\t3\na\t1\t1\t1\n", "h.tsv"},
		{"client,lock,from_s,to_s,mode\na,x,1.5,2.25,read\n\"b, c\",x,1,3,exclusive\n", "h"},
		{`{"time":"2026-03-01T10:00:00+02:00","client":"a","event":"acquired","lock":"x"}` + "\n" + `{"time":"2026-03-01 10:00:01+02:00","client":"a","event":"released","lock":"x"}`, "h.jsonl"},
		{`[{"client":1,"f":"release","time_us":5},{"client":1,"f":"acquire","time_us":5,"token":"t"},{"client":1,"f":"lost","time_us":7,"token":"t"}]`, "h.json"},
		{"process,type,f,value,time\n0,invoke,acquire,x,0\n0,info,acquire,x,1\nnemesis,info,crash,,2\n", "h.csv"},
		{`{"process":"a","type":"invoke","f":"read","lease":{"token":"t","fence":3},"value":[1,2]}`, "h.jsonl"},
		{"client,from,to\na,1h,9223372036s\n", "h.csv"},
		{"", "h.csv"}, {"\"", "h.csv"}, {"[", "h.json"}, {"{", "h.jsonl"},
	} {
		f.Add(seed.text, seed.name, int64(time.Millisecond), int64(-1), true)
		f.Add(seed.text, seed.name, int64(0), int64(time.Second), false)
	}
	f.Fuzz(func(t *testing.T, text, name string, clockError, takes int64, held bool) {
		if strings.ContainsAny(name, "\n") {
			return
		}
		log, err := Read([]byte(text), name)
		if err != nil {
			if !strings.HasPrefix(err.Error(), name+":") {
				t.Errorf("%q does not name the file", err)
			}
			return
		}
		day := int64(24 * time.Hour)
		r := log.Readings(Doubts{ClockError: time.Duration(clockError % day).Abs(), ReleaseTakes: time.Duration(max(takes%day, -1)), UnendedHeld: held})
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
		if holds(r.Certain) > holds(r.Possible) || holds(r.Possible) > len(log.Holds) {
			t.Errorf("%d certain spans, %d possible ones of %d holds", holds(r.Certain), holds(r.Possible), len(log.Holds))
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
