package applog

import "testing"

// Spreadsheets write a byte order mark at the beginning of "CSV UTF-8" files.
func TestAByteOrderMarkBelongsToNoValue(t *testing.T) {
	const mark = "\ufeff"
	for _, test := range []struct{ name, text string }{
		{"h.csv", "client,lock,from_s,to_s\na,x,1,2\n"},
		{"h", "client,lock,from_s,to_s\na,x,1,2\n"},
		{"h.csv", "\"client\",lock,from_s,to_s\na,x,1,2\n"},
		{"h.jsonl", `{"client":"a","lock":"x","from_s":1,"to_s":2}`},
		{"h", `[{"client":"a","lock":"x","from_s":1,"to_s":2}]`},
	} {
		log, err := Read([]byte(mark+test.text), test.name)
		if err != nil || len(log.Holds) != 1 || log.Holds[0].Lock != "x" || len(log.Clients) != 1 || log.Clients[0] != "a" || len(log.Notes) != 1 {
			t.Errorf("%s %q: %+v, %v; want one hold by a of x", test.name, test.text, log, err)
		}
	}
}

// A name may begin with any character. No line is a comment.
func TestNoRowIsTakenForAComment(t *testing.T) {
	log, err := Read([]byte("client,lock,from_s,to_s\na,x,1,5\n#2,x,2,6\n"), "h.csv")
	if err != nil || len(log.Holds) != 2 {
		t.Errorf("%+v, %v; want two holds", log, err)
	}
}

// A lease that ends at the first instant of the log has ended, although times count from that instant.
func TestADeadlineAtTheFirstInstantIsOne(t *testing.T) {
	log, err := Read([]byte("client,lock,from_ms,to_ms,deadline_ms\na,x,1000,9000,1000\nb,x,5000,6000,20000\n"), "h.csv")
	if err != nil || len(log.Holds) != 2 {
		t.Fatalf("%+v, %v; want two holds", log, err)
	}
	certain := log.Readings(Doubts{}).Certain
	if len(certain) == 0 {
		t.Error("the hold of b is missing")
	}
	for _, op := range certain {
		if log.Clients[op.Client] != "b" {
			t.Errorf("%+v; want entries of b alone", op)
		}
	}
}
