package jepsen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// sequence returns entries of acquires with these processes and types, such as "0 invoke,0 ok".
func sequence(words string) []history.Op {
	var ops []history.Op
	for i, w := range strings.Split(words, ",") {
		var op history.Op
		if _, err := fmt.Sscan(w, &op.Process, &op.Type); err != nil {
			panic(err)
		}
		op.Index, op.F, op.Client = i, history.FAcquire, ownerless
		ops = append(ops, op)
	}
	return ops
}

func clientsOf(ops []history.Op) (clients []int) {
	for _, op := range ops {
		clients = append(clients, op.Client)
	}
	return clients
}

func TestEachProcessIsAClient(t *testing.T) {
	const succeeds = "each process counts as a client of its own"
	tests := map[string]struct {
		ops  string
		want []int
		note string
	}{
		"nobody was retired":             {"0 invoke,0 ok,7 invoke,7 fail", []int{0, 0, 7, 7}, ""},
		"retired, and nobody came":       {"0 invoke,1 invoke,1 info", []int{0, 1, 1}, ""},
		"retired, and another came":      {"0 invoke,1 invoke,0 info,1 ok,2 invoke", []int{0, 1, 0, 1, 2}, succeeds},
		"another came before it retired": {"0 invoke,1 invoke,2 invoke,0 info", []int{0, 1, 2, 0}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := Reading{Ops: sequence(tt.ops)}
			r.own(nil)
			notes := strings.Join(r.Notes, "; ")
			if fmt.Sprint(clientsOf(r.Ops)) != fmt.Sprint(tt.want) || !strings.Contains(notes, tt.note) || (tt.note == "") != (notes == "") {
				t.Errorf("got %v, %q; want %v, %q", clientsOf(r.Ops), notes, tt.want, tt.note)
			}
		})
	}
}

func TestOwnersThatEntriesNameAreOne(t *testing.T) {
	r := Reading{Ops: sequence("0 invoke,1 invoke,0 info,2 invoke,1 ok,3 invoke")}
	r.own(map[history.Process]string{0: "n1", 2: "n1", 1: "n2"})
	if got, notes := fmt.Sprint(clientsOf(r.Ops)), strings.Join(r.Notes, "; "); got != "[0 1 0 0 1 2]" || !strings.Contains(notes, "c0 is n1, c1 is n2") {
		t.Errorf("got %v, %s", got, notes)
	}
}

func TestJSONLinesMayLackClientsAndIndices(t *testing.T) {
	const lines = `{"time":1,"process":0,"type":"invoke","f":"acquire","lock":"a"}
{"time":2,"process":1,"type":"invoke","f":"acquire","lock":"a"}
{"time":3,"process":0,"type":"info","f":"acquire","lock":"a"}
{"time":4,"process":"nemesis","type":"info","f":"kill"}
{"time":5,"process":2,"type":"invoke","f":"acquire","lock":"a"}
`
	array := "[" + strings.Join(strings.Split(strings.TrimSpace(lines), "\n"), ",\n") + "]"
	for name, in := range map[string]string{"h.jsonl": lines, "h": lines, "h.json": array, "h2": array} {
		r, err := Read(strings.NewReader(in), name, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(clientsOf(r.Ops)); got != "[0 1 0 -1 2]" || r.Ops[4].Index != 4 || len(r.Notes) != 1 {
			t.Errorf("%s: got clients %s, notes %q", name, got, r.Notes)
		}
	}
	for want, in := range map[string]string{
		"h.jsonl: entry 0: client is missing":      lines + `{"time":6,"process":3,"client":3,"type":"invoke","f":"acquire"}`,
		"h.jsonl:6: index is in some entries only": lines + `{"index":9,"time":6,"process":3,"type":"invoke","f":"acquire"}`,
		"h.jsonl:6: time is in some entries only":  lines + `{"process":3,"type":"invoke","f":"acquire"}`,
		"h.jsonl:6: time 1 is before":              lines + `{"time":1,"process":3,"type":"invoke","f":"acquire"}`,
		`h.jsonl:6: f is "cas"`:                    lines + `{"time":6,"process":3,"type":"invoke","f":"cas"}`,
	} {
		if _, err := Read(strings.NewReader(in), "h.jsonl", ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNothingMayFollowAnArray(t *testing.T) {
	const array = `[{"time":1,"process":0,"type":"invoke","f":"acquire","lock":"a"}]` + "\n"
	for _, more := range []string{"[]", "]", "x", `{"time":2,"process":0,"type":"ok","f":"acquire","lock":"a"}`} {
		_, err := Read(strings.NewReader(array+more), "h.json", "")
		if want := "h.json:2: expected nothing after the array"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", more, err, want)
		}
	}
}
