package history

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzEntryLines checks that the fast decoder either reads a line as encoding/json does, or leaves
// the line to encoding/json.
func FuzzEntryLines(f *testing.F) {
	for _, line := range []string{
		`{"index":0,"time":5,"process":3,"client":3,"type":"invoke","f":"acquire","lock":"lock-0"}`,
		` { "index" : 12 , "time":0,"process":0,"client":-1,"type":"ok","f":"acquire","lease":{"token":"t","fence":7,"deadline":-9}} ` + "\r\n",
		`{"lease":{},"mode":"read","reason":"busy","error":"no","seq":9}`, `{"lease":{"token":"a"},"lease":{"fence":1}}`,
		`{}`, `{"index":1,"index":2}`, `{"process":-1}`, `{"process":"nemesis"}`, `{"index":01}`, `{"index":-0}`, `{"index":- 1}`,
		`{"index":1.5}`, `{"index":1e3}`, `{"index":null}`, `{"time":9223372036854775807}`, `{"time":123456789012345678}`, `{"time":1234567890123456789}`,
		`{"Index":1}`, `{"f":"a\"b"}`, "{\"f\":\"\xff\"}", `{"f":"é"}`, "{\"f\":\"\x7f\"}", `{"f":1}`, `{"value":[1],"index":1}`, `{"value":[]}`, `{"value":[1,-2 , 3]}`, `{"value":[1,]}`, `{"value":[1.5]}`, `{"value":null}`, `{"value":[1],"value":[]}`, `{"index":1}x`, `{"index":1,}`, `[1]`, `{"index":1`, ``,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var l entryLines
		got, ok := l.decode(line)
		if !ok {
			return
		}
		var want Entry
		if err := json.Unmarshal(line, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v (%v)", line, got, want, err)
		}
	})
}

func TestOrdinaryEntriesAreDecodedFast(t *testing.T) {
	var l entryLines
	for line, want := range map[string]bool{
		`{"index":0,"time":5,"process":3,"client":3,"type":"invoke","f":"acquire","lock":"lock-0"}` + "\n":         true,
		`{"index":1,"time":6,"process":3,"client":3,"type":"ok","f":"acquire","lease":{"token":"t","fence":7}}`:    true,
		`{"index":2,"time":7,"process":3,"client":3,"type":"fail","f":"extend","error":"lost","reason":"refused"}`: true,
		`{"index":3,"time":8,"process":"nemesis","client":-1,"type":"info","f":"healed"}`:                          false,
		`{"index":4,"time":9,"process":3,"client":3,"type":"fail","f":"extend","error":"a \"quoted\" word"}`:       false,
		`{"index":5,"time":9,"process":3,"client":3,"type":"ok","f":"read","lock":"lock-0","value":[7],"seq":1}`:   true,
	} {
		if _, ok := l.decode([]byte(line)); ok != want {
			t.Errorf("%s: decoded %t, want %t", line, ok, want)
		}
	}
	if len(l.names) == 0 {
		t.Error("no name was kept")
	}
}
