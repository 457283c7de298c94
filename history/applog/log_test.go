package applog

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func TestReadTakesColumnsInAnyOrderAndBothFormsOfTimes(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Hold
		fine       time.Duration
	}{
		{
			"dates", "process,lock,from,to\nb,x,1970-01-01T00:00:02.5Z,1970-01-01T02:00:03.25+02:00\na,x,1970-01-01T00:00:01Z,\n",
			[]Hold{
				{Line: 3, Process: "a", Client: 1, Lock: "x", From: time.Second, To: Never, Until: Never, SaidFrom: "1970-01-01T00:00:01Z"},
				{Line: 2, Process: "b", Lock: "x", From: 2500 * time.Millisecond, To: 3250 * time.Millisecond, Until: Never, SaidFrom: "1970-01-01T00:00:02.5Z", SaidTo: "1970-01-01T02:00:03.25+02:00"},
			},
			10 * time.Millisecond,
		},
		{
			"seconds and all columns", "\n deadline ,mode, to,from,lock,process\n5,read,2.000000001,1,\"a, b\",#1\n",
			[]Hold{{Line: 3, Process: "#1", Lock: "a, b", Mode: history.Read, From: time.Second, To: 2*time.Second + 1, Until: 5 * time.Second, SaidFrom: "1", SaidTo: "2.000000001"}},
			1,
		},
		{
			"whole seconds", "process,lock,from,to,mode\na,x,4000000000,4000000000,\n",
			[]Hold{{Line: 2, Process: "a", Lock: "x", From: 4e9 * time.Second, To: 4e9 * time.Second, Until: Never, SaidFrom: "4000000000", SaidTo: "4000000000"}},
			time.Second,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log, err := Read([]byte(test.text), "h.csv")
			if err != nil || !slices.Equal(log.Holds, test.want) || log.Fine != test.fine {
				t.Errorf("got %+v, %v; want %+v, written to %v", log, err, test.want, test.fine)
			}
		})
	}
}

func TestErrorsNameTheLineAndWhatWasExpected(t *testing.T) {
	const header = "process,lock,from,to\n"
	const columns = "expected a header that names the columns process, lock, from, to, and perhaps mode, deadline, separated by commas"
	const times = ", expected RFC 3339 from 1970 to 2095 such as 2026-01-02T03:04:05.678Z, or seconds up to 4000000000 such as 12.345"
	tests := []struct{ name, text, want string }{
		{"empty file", "", "h.csv:1: no holds: " + columns + ", and a line for each hold"},
		{"header only", "\n" + header, "h.csv:2: no holds: " + columns + ", and a line for each hold"},
		{"no header", "a,x,1,2\n", `h.csv:1: column "a" is unknown: ` + columns},
		{"unknown column", "process,lock,from,until\na,x,1,2\n", `h.csv:1: column "until" is unknown: ` + columns},
		{"a name in capitals", "Process,lock,from,to\na,x,1,2\n", `h.csv:1: column "Process" is unknown: ` + columns},
		{"semicolons", "process;lock;from;to\na;x;1;2\n", `h.csv:1: column "process;lock;from;to" is unknown: ` + columns},
		{"missing column", "process,from,to\na,1,2\n", "h.csv:1: column lock is missing: " + columns},
		{"missing end", "process,lock,from,deadline\na,x,1,2\n", "h.csv:1: column to is missing: " + columns},
		{"duplicate column", "process,lock,from,from,to\na,x,1,1,2\n", "h.csv:1: column from is there twice: expected it once"},
		{"a value too many", header + "a,x,1,2\na,x,3,4,5\n", "h.csv:3: 5 values, expected 4 as in the header"},
		{"a value too few", header + "a,x,1\n", "h.csv:2: 3 values, expected 4 as in the header"},
		{"no process", header + " ,x,1,2\n", "h.csv:2: process is empty: expected a value in every line"},
		{"no lock", header + "a,,1,2\n", "h.csv:2: lock is empty: expected a value in every line"},
		{"no beginning", header + "a,x,,2\n", "h.csv:2: from is empty: expected a value in every line"},
		{"unknown mode", "process,lock,from,to,mode\na,x,1,2,shared\n", `h.csv:2: mode is "shared", expected read or write`},
		{"to before from", header + "a,x,2,1\n", "h.csv:2: to is 1, before from, 2: expected the end of a hold after its beginning"},
		{"no time", header + "a,x,yesterday,2\n", `h.csv:2: from is "yesterday"` + times},
		{"a unit", header + "a,x,1,2s\n", `h.csv:2: to is "2s"` + times},
		{"a sign", header + "a,x,-1,2\n", `h.csv:2: from is "-1"` + times},
		{"an exponent", header + "a,x,1,1e3\n", `h.csv:2: to is "1e3"` + times},
		{"no digits", header + "a,x,.,2\n", `h.csv:2: from is "."` + times},
		{"picoseconds", header + "a,x,1,2.0000000001\n", `h.csv:2: to is "2.0000000001"` + times},
		{"nanoseconds since 1970", header + "a,x,1700000000000000000,1700000000000000001\n", `h.csv:2: from is "1700000000000000000"` + times},
		{"seconds beyond any duration", header + "a,x,1,99999999999999999999\n", `h.csv:2: to is "99999999999999999999"` + times},
		{"no zone", header + "a,x,2026-03-01T10:00:00,2026-03-01T10:00:01\n", `h.csv:2: from is "2026-03-01T10:00:00"` + times},
		{"no T", header + "a,x,2026-03-01 10:00:00Z,\n", `h.csv:2: from is "2026-03-01 10:00:00Z"` + times},
		{"before 1970", header + "a,x,1969-12-31T23:59:59Z,\n", `h.csv:2: from is "1969-12-31T23:59:59Z"` + times},
		{"a far year", header + "a,x,2026-03-01T10:00:00Z,9999-03-01T10:00:00Z\n", `h.csv:2: to is "9999-03-01T10:00:00Z"` + times},
		{"an unreadable deadline", "process,lock,from,to,deadline\na,x,1,2,soon\n", `h.csv:2: deadline is "soon"` + times},
		{"dates and seconds", header + "a,x,2026-03-01T10:00:00Z,\na,x,5,6\n", "h.csv:3: from is 5, but an earlier time is 2026-03-01T10:00:00Z: expected either RFC 3339 or seconds in every line"},
		{"a quote inside", header + "a\"b,x,1,2\n", "h.csv:2: a quote is out of place: expected quotes around a whole value, and each quote inside doubled"},
		{"a quote without an end", header + "a,x,1,2\n\"b,x,3,4\n", "h.csv:3: a quote is out of place: expected quotes around a whole value, and each quote inside doubled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if log, err := Read([]byte(test.text), "h.csv"); err == nil || err.Error() != test.want {
				t.Errorf("got %+v, %v; want the error %s", log, err, test.want)
			}
		})
	}
}

// A lease that ends at the first instant of the log has ended, although times count from that instant.
func TestADeadlineAtTheFirstInstantIsOne(t *testing.T) {
	log, err := Read([]byte("process,lock,from,to,deadline\na,x,1.000,9.000,1.000\nb,x,5.000,6.000,20.000\n"), "h.csv")
	if err != nil || len(log.Holds) != 2 {
		t.Fatalf("%+v, %v; want two holds", log, err)
	}
	certain := log.Readings(0).Certain
	if len(certain) == 0 {
		t.Error("the hold of b is missing")
	}
	for _, op := range certain {
		if op.Client != log.Holds[1].Client {
			t.Errorf("%+v; want entries of b alone", op)
		}
	}
}
