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
