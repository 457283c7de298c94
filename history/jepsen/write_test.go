package jepsen

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"pgregory.net/rapid"
)

// carried returns an entry as it is after Write and Read: without Op.Keys, and with nil for an
// empty lease or value.
func carried(op history.Op) history.Op {
	op.Keys = nil
	if op.Lease != nil && *op.Lease == (history.Lease{}) {
		op.Lease = nil
	}
	if len(op.Value) == 0 {
		op.Value = nil
	}
	return op
}

func TestWhatIsWrittenAsEDNIsReadBack(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9-]{1,8}`), rapid.String())
	number := rapid.Int64Range(0, 1<<40)
	rapid.Check(t, func(t *rapid.T) {
		var ops []history.Op
		open := map[history.Process]history.Op{}
		windows := map[int]bool{}
		at := time.Duration(0)
		for i := range rapid.IntRange(0, 12).Draw(t, "entries") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(t, "later"))
			op := history.Op{Index: 2 * i, Time: at, Error: text.Draw(t, "error")}
			if rapid.IntRange(0, 3).Draw(t, "nemesis") == 0 {
				op.Process, op.Type, op.F = history.Nemesis, history.Info, rapid.SampledFrom([]string{history.FCrash, history.FElection}).Draw(t, "event")
				op.Client = rapid.IntRange(history.NoClient, 3).Draw(t, "client")
				op.Node, op.From = text.Draw(t, "node"), text.Draw(t, "from")
				op.Offset = time.Duration(rapid.Int64Range(-5, 5).Draw(t, "offset"))
				op.Lost = rapid.SampledFrom([]*history.Lost{nil, {}, {Durability: history.Volatile, Keys: true, Scripts: true}, {Writes: 2, Commands: []history.Bytes{"SET k \"v\"", "\xff"}}}).Draw(t, "lost")
				if id := rapid.IntRange(-1, 2).Draw(t, "window"); id >= 0 {
					op.F = "delay"
					op.Window = drawWindow(t, id, op.F)
					if windows[id] = !windows[id]; windows[id] {
						op.Type = history.Invoke
					}
				}
				ops = append(ops, op)
				continue
			}
			op.Process = history.Process(rapid.IntRange(0, 3).Draw(t, "process"))
			if was, ok := open[op.Process]; rapid.IntRange(0, 5).Draw(t, "lost lease") == 0 {
				op.F, op.Type, op.Client, op.Lock = history.FLost, history.Info, was.Client, text.Draw(t, "lock")
				op.Mode = rapid.SampledFrom([]history.Mode{"", "read", "write"}).Draw(t, "mode")
			} else if ok {
				op.F, op.Type, op.Client, op.Lock, op.Mode = was.F, rapid.SampledFrom([]history.Type{history.OK, history.Fail, history.Info}).Draw(t, "type"), was.Client, was.Lock, was.Mode
				op.Reason = rapid.SampledFrom([]history.Reason{"", history.Busy, history.NotHeld, history.Unknown}).Draw(t, "reason")
				delete(open, op.Process)
			} else {
				op.F, op.Type, op.Client = rapid.SampledFrom([]string{history.FAcquire, history.FRelease, history.FExtend, history.FRead, history.FWrite}).Draw(t, "f"), history.Invoke, rapid.IntRange(0, 3).Draw(t, "client")
				op.Lock, op.Mode = text.Draw(t, "lock"), rapid.SampledFrom([]history.Mode{"", "read", "write"}).Draw(t, "mode")
				open[op.Process] = op
			}
			if rapid.Bool().Draw(t, "leased") {
				op.Lease = &history.Lease{Token: text.Draw(t, "token"), Fence: number.Draw(t, "fence"), Deadline: time.Duration(number.Draw(t, "deadline")), Monotonic: rapid.Bool().Draw(t, "monotonic")}
			}
			if op.F == history.FRead || op.F == history.FWrite {
				op.Value, op.Seq = rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "value"), number.Draw(t, "seq")
			}
			ops = append(ops, op)
		}
		var b bytes.Buffer
		if err := Write(&b, ops); err != nil {
			t.Fatal(err)
		}
		r, err := Read(bytes.NewReader(b.Bytes()), "h.edn", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Ops) != len(ops) {
			t.Fatalf("got %d entries, want %d", len(r.Ops), len(ops))
		}
		for i, op := range ops {
			if got, want := carried(r.Ops[i]), carried(op); !reflect.DeepEqual(got, want) {
				t.Fatalf("got\n%+v, want\n%+v", got, want)
			}
		}
	})
}

// Readers of Jepsen's histories pair the entries of a process by their order. So no other entry of
// the process may stand between an invocation and its completion.
func TestALossBesideAnOpenOperationIsNoCompletion(t *testing.T) {
	lost := history.Op{Process: 3, Client: 0, Type: history.Info, F: history.FLost, Lock: "a", Lease: &history.Lease{Token: "t"}}
	ops := []history.Op{
		{Process: 3, Client: 0, Type: history.Invoke, F: history.FAcquire, Lock: "b"}, lost,
		{Process: 3, Client: 0, Type: history.OK, F: history.FAcquire, Lock: "b"}, lost,
	}
	for i := range ops {
		ops[i].Index, ops[i].Time = i, time.Duration(i)
	}
	var b bytes.Buffer
	if err := Write(&b, ops); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{
		"{:process 3, :type :invoke, :f :acquire,", "{:process :nemesis, :type :info, :f :lost,",
		"{:process 3, :type :ok, :f :acquire,", "{:process 3, :type :info, :f :lost,",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %s, want it to begin with %s", i+1, lines[i], want)
		}
	}
	r, err := Read(bytes.NewReader(b.Bytes()), "h.edn", "")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Ops, ops) {
		t.Errorf("got\n%+v, want\n%+v", r.Ops, ops)
	}
	bad := `{:process :nemesis, :type :info, :f :lost, :client 0, :by -1}`
	if _, err := Read(strings.NewReader(bad), "h.edn", ""); err == nil || !strings.Contains(err.Error(), "h.edn:1: :by is -1") {
		t.Errorf("of a negative process: got %v", err)
	}
}
