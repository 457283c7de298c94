package history

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCanonicalSortsWhatHasNoOrder(t *testing.T) {
	of := func(kind string) *KeyContent {
		k := &KeyContent{Type: kind, Members: []Bytes{"b", "a", "b"}, Fields: []Field{{"b", "1"}, {"a", "2"}}}
		k.Canonical()
		return k
	}
	for kind, want := range map[string][]Bytes{"set": {"a", "b", "b"}, "list": {"b", "a", "b"}} {
		k := of(kind)
		if !reflect.DeepEqual(k.Members, want) || k.Fields[0].Name != "a" {
			t.Errorf("%s: got %+v, want members %q and field a first", kind, k, want)
		}
	}
}

func TestLongValuesAreCutWithADigest(t *testing.T) {
	long := strings.Repeat("é", MaxValue)
	cuts := map[Bytes]string{}
	for name, v := range map[string]string{
		"text": long, "text of odd length": "x" + long, "other end": long + "x", "no text": long + "\xff", "just too long": strings.Repeat("x", MaxValue+1),
	} {
		k := KeyContent{Type: "hash", Value: Bytes(v), Fields: []Field{{Bytes(v), Bytes(v)}}, Members: []Bytes{Bytes(v)}}
		k.Canonical()
		got := k.Value
		if len(got) > MaxValue+200 || !strings.HasPrefix(v, string(got[:MaxValue-1])) || !utf8.ValidString(string(got)) && utf8.ValidString(v) {
			t.Errorf("%s: got %d bytes that end in %q", name, len(got), got[len(got)-100:])
		}
		if k.Fields[0] != (Field{got, got}) || k.Members[0] != got {
			t.Errorf("%s: fields and members are cut in another way", name)
		}
		if other := cuts[got]; other != "" {
			t.Errorf("%s is cut as %s", name, other)
		}
		cuts[got] = name
	}
	k := KeyContent{Value: Bytes(strings.Repeat("x", MaxValue))}
	if k.Canonical(); len(k.Value) != MaxValue {
		t.Errorf("a value that is not too long has %d bytes", len(k.Value))
	}
}

func TestKeyChangesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written []KeyChange
		var file []byte
		for i := range rapid.IntRange(0, 3).Draw(t, "changes") {
			var c KeyChange
			fill(t, reflect.ValueOf(&c).Elem())
			c.Index, c.Node, c.By, c.To = i, "n0", rapid.SampledFrom(causesOfChange).Draw(t, "by"), max(c.From, c.To)
			for _, k := range []*KeyContent{c.Before, c.After} {
				if k != nil {
					k.Type = "hash" // a type must not be arbitrary bytes
				}
			}
			written = append(written, c)
			file = append(c.AppendJSON(file), '\n')
		}
		read, truncated, err := ReadKeyChanges(bytes.NewReader(file), "keys.jsonl")
		if err != nil || truncated != nil || Hash(Evidence{Keys: read}) != Hash(Evidence{Keys: written}) {
			t.Fatalf("got %+v, %v, %v, want %+v", read, truncated, err, written)
		}
	})
}

func TestKeyChangesThatCannotBeAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{"index":0,"by":"command"}`:                       "keys.jsonl:1: node is missing",
		`{"index":0,"node":"n0","by":"magic"}`:             `by is "magic"`,
		`{"node":"n0","by":"expiry","from":2,"to":1}`:      "from 2 is after to 1",
		"{\"node\":\"n0\",\"by\":\"expiry\"}\n{\"node\n{}": "keys.jsonl:2: ",
	} {
		if _, _, err := ReadKeyChanges(strings.NewReader(line+"\n"), "keys.jsonl"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	changes, truncated, err := ReadKeyChanges(strings.NewReader(`{"node":"n0","by":"expiry"}`+"\n"+`{"node`), "keys.jsonl")
	if len(changes) != 1 || truncated == nil || err != nil {
		t.Errorf("cut short: got %v, %v, %v", changes, truncated, err)
	}
}

func TestHashesTellKeyChangesApart(t *testing.T) {
	change := KeyChange{Node: "n0", Key: "k", By: ByCommand, Exec: 1, After: &KeyContent{Type: "string", Value: "v"}}
	other := change
	other.After = &KeyContent{Type: "string", Value: "w"}
	hashes := map[string]bool{}
	for _, keys := range [][]KeyChange{nil, {change}, {other}, {change, other}} {
		hashes[Hash(Evidence{Keys: keys})] = true
	}
	if len(hashes) != 4 {
		t.Errorf("got %d hashes, want 4", len(hashes))
	}
}
