package history

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newTestRecorder(buf *bytes.Buffer) *Recorder {
	var t time.Duration
	return NewRecorder(buf, func() time.Duration { t++; return t })
}

// record records an invocation if the entry's type is Invoke, else a completion.
func record(r *Recorder, op Op) error {
	add := r.Complete
	if op.Type == Invoke {
		add = r.Invoke
	}
	_, err := add(op)
	return err
}

// The recorder refuses the last entry of each history.
func TestRecorderRefusesImpossibleHistories(t *testing.T) {
	acquire := Op{Process: 0, Client: 0, Type: Invoke, F: FAcquire, Lock: "a"}
	window := Op{Process: Nemesis, Type: Invoke, F: "partition", Window: &Window{ID: 1}}
	for name, ops := range map[string][]Op{
		"completion without invocation":      {{Process: 0, F: FAcquire, Type: OK}},
		"two open operations of one process": {acquire, acquire},
		"completion of another operation":    {acquire, {Process: 0, F: FRelease, Type: OK}},
		"completion by another client":       {acquire, {Process: 0, Client: 1, F: FAcquire, Type: OK}},
		"nemesis window without description": {{Process: Nemesis, Type: Invoke, F: "partition"}},
		"nemesis window opened twice":        {window, window},
		"negative process":                   {{Process: -2, Type: Invoke, F: FAcquire}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestRecorder(new(bytes.Buffer))
			for i, op := range ops {
				if err := record(r, op); (err != nil) != (i == len(ops)-1) {
					t.Errorf("entry %d: got error %v", i, err)
				}
			}
		})
	}
	r := newTestRecorder(new(bytes.Buffer))
	if err := record(r, acquire); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Complete(acquire); err == nil {
		t.Error("completion of type invoke: got no error")
	}
}

func TestCrashSealsTheClientButNotTheNemesis(t *testing.T) {
	r := newTestRecorder(new(bytes.Buffer))
	if _, err := r.Invoke(Op{Process: 3, Client: 1, F: FAcquire}); err != nil {
		t.Fatal(err)
	}
	if err := r.Crash(1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Complete(Op{Process: 3, Client: 1, F: FAcquire, Type: OK}); !errors.Is(err, ErrSealed) {
		t.Errorf("completion of a dead client: got %v, want ErrSealed", err)
	}
	if _, err := r.Event(Op{Process: 3, Client: 1, F: FLost}); !errors.Is(err, ErrSealed) {
		t.Errorf("event of a dead client: got %v, want ErrSealed", err)
	}
	if _, err := r.Event(Op{Process: Nemesis, Client: 1, F: FClock}); err != nil {
		t.Errorf("nemesis event about a dead client: %v", err)
	}
	if err := r.Crash(1); !errors.Is(err, ErrSealed) {
		t.Errorf("second crash: got %v, want ErrSealed", err)
	}
	if n := len(r.Ops()); n != 3 {
		t.Errorf("got %d entries, want 3", n)
	}
}

func TestNothingFollowsTheEnd(t *testing.T) {
	r := newTestRecorder(new(bytes.Buffer))
	if _, err := r.Invoke(Op{Process: 0, F: FAcquire}); err != nil {
		t.Fatal(err)
	}
	if err := r.End(Op{Client: NoClient, F: FPanic, Error: "boom"}, 0); err != nil {
		t.Fatal(err)
	}
	_, complete := r.Complete(Op{Process: 0, F: FAcquire, Type: OK})
	_, event := r.Event(Op{Process: Nemesis, Client: NoClient, F: FHealed})
	for what, err := range map[string]error{
		"completion": complete, "event": event, "crash": r.Crash(1), "second end": r.End(Op{Client: NoClient, F: FDeadlock}, 0),
	} {
		if !errors.Is(err, ErrSealed) {
			t.Errorf("%s: got %v, want ErrSealed", what, err)
		}
	}
	if ops := r.Ops(); len(ops) != 2 || ops[1].F != FPanic || ops[1].Time != ops[0].Time || ops[1].Type != Info || ops[1].Process != Nemesis {
		t.Errorf("got %+v", ops)
	}
}

func TestEntriesAreStreamedInOrderUnderConcurrency(t *testing.T) {
	var buf bytes.Buffer
	start := time.Now()
	r := NewRecorder(&buf, func() time.Duration { return time.Since(start) })
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := r.Invoke(Op{Process: Process(p), Client: p, F: FAcquire, Lock: "a"}); err != nil {
					t.Error(err)
				}
				if _, err := r.Complete(Op{Process: Process(p), Client: p, F: FAcquire, Type: Fail, Reason: Busy}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ops, truncated, err := ReadOps(&buf, "history.jsonl")
	if err != nil || truncated != nil {
		t.Fatalf("read back: %v, truncated: %v", err, truncated)
	}
	if len(ops) != 8*50*2 {
		t.Fatalf("got %d entries, want %d", len(ops), 8*50*2)
	}
	for i, op := range ops {
		if op.Index != i {
			t.Fatalf("entry %d has index %d", i, op.Index)
		}
	}
	if Hash(Evidence{Ops: ops}) != Hash(Evidence{Ops: r.Ops()}) {
		t.Error("what was read back differs from what was recorded")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriteErrorIsKeptAndTheHistoryGoesOn(t *testing.T) {
	r := NewRecorder(failingWriter{}, func() time.Duration { return 1 })
	if _, err := r.Invoke(Op{F: FAcquire}); err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got error %v, want the writer's", err)
	}
	if len(r.Ops()) != 1 {
		t.Error("the entry is lost")
	}
}

func TestReadOpsNamesFileAndLine(t *testing.T) {
	const good = `{"index":0,"time":1,"process":0,"client":0,"type":"invoke","f":"acquire","lock":"a"}` + "\n"
	tests := map[string]struct{ in, want string }{
		"not JSON":                 {good + "nonsense\n" + good, "h.jsonl:2: expected one JSON object per line"},
		"unknown type":             {`{"index":0,"time":1,"process":0,"client":0,"type":"maybe","f":"acquire"}` + "\n", `h.jsonl:1: type is "maybe"`},
		"index that stands still":  {good + good, "h.jsonl:2: index is 0"},
		"time that runs backwards": {good + `{"index":1,"time":0,"process":0,"client":0,"type":"ok","f":"acquire"}` + "\n", "h.jsonl:2: time 0"},
		"missing f":                {`{"index":0,"time":1,"process":0,"client":0,"type":"ok"}` + "\n", "h.jsonl:1: f is missing"},
		"missing client":           {`{"index":0,"time":1,"process":0,"type":"ok","f":"acquire"}` + "\n", "h.jsonl:1: client is missing"},
		"missing time":             {`{"index":0,"process":0,"client":0,"type":"ok","f":"acquire"}` + "\n", "h.jsonl:1: time is missing"},
		"missing process":          {`{"index":0,"time":1,"client":0,"type":"ok","f":"acquire"}` + "\n", "h.jsonl:1: process is missing"},
		"what no client does":      {`{"index":0,"time":1,"process":0,"client":0,"type":"ok","f":"lock"}` + "\n", `h.jsonl:1: f is "lock", expected one of acquire`},
		"bad process":              {`{"index":0,"time":1,"process":"x","client":0,"type":"ok","f":"a"}` + "\n", "h.jsonl:1:"},
		"completion of nothing":    {`{"index":0,"time":1,"process":0,"client":0,"type":"ok","f":"acquire"}` + "\n", "h.jsonl: entry 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := ReadOps(strings.NewReader(tt.in), "h.jsonl")
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q…", err, tt.want)
			}
		})
	}
}

func TestATruncatedLastLineIsReportedAndTheRestUsed(t *testing.T) {
	const line = `{"index":0,"time":1,"process":0,"client":0,"type":"invoke","f":"acquire","lock":"a"}` + "\n"
	ops, truncated, err := ReadOps(strings.NewReader(line+line[:20]), "h.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(ops) != 1 {
		t.Errorf("got %d entries, want 1", len(ops))
	}
	if truncated == nil || !strings.HasPrefix(truncated.Error(), "h.jsonl:2: the last line is cut short") {
		t.Errorf("got truncated = %v", truncated)
	}
}

func TestBytesSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		data, err := b.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got Bytes
		if err := got.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		if got != b {
			t.Fatalf("got %q, want %q", got, b)
		}
	})
}

func TestPairsMatchesByProcessAndWindow(t *testing.T) {
	r := newTestRecorder(new(bytes.Buffer))
	for _, op := range []Op{
		{Process: 0, Client: 0, Type: Invoke, F: FAcquire},
		{Process: Nemesis, Type: Invoke, F: "partition", Window: &Window{ID: 1}},
		{Process: Nemesis, Type: Invoke, F: "delay", Window: &Window{ID: 2}},
		{Process: 1, Client: 1, Type: Invoke, F: FAcquire},
		{Process: Nemesis, Type: Info, F: "partition", Window: &Window{ID: 1, Hits: 3}},
	} {
		if err := record(r, op); err != nil {
			t.Fatal(err)
		}
	}
	_, event := r.Event(Op{Process: 1, Client: 1, F: FLost})
	if err := errors.Join(event, record(r, Op{Process: 1, Client: 1, Type: Fail, F: FAcquire})); err != nil {
		t.Fatal(err)
	}
	pairs, err := Pairs(r.Ops())
	if err != nil {
		t.Fatal(err)
	}
	want := []Type{Info, Info, Info, Fail} // client 0 and window 2 never completed
	if len(pairs) != len(want) {
		t.Fatalf("got %d pairs, want %d", len(pairs), len(want))
	}
	for i, p := range pairs {
		if p.Done() != want[i] {
			t.Errorf("pair %d ended with %s, want %s", i, p.Done(), want[i])
		}
	}
	if pairs[1].Complete == nil || pairs[1].Complete.Window.Hits != 3 {
		t.Error("window 1 was not paired with its end")
	}
	if pairs[0].Complete != nil || pairs[2].Complete != nil {
		t.Error("an open operation was paired")
	}
}

// A completion belongs to the client that invoked the operation.
func TestPairsRefusesACompletionOfAnotherClient(t *testing.T) {
	_, err := Pairs([]Op{
		{Index: 3, Process: 0, Client: 0, Type: Invoke, F: FAcquire}, {Index: 4, Process: 0, Client: 1, Type: OK, F: FAcquire},
	})
	const want = "entry 4: client 1 completes what client 0 invoked (entry 3)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func FuzzReadOps(f *testing.F) {
	f.Add([]byte(`{"index":0,"time":1,"process":"nemesis","client":-1,"type":"invoke","f":"delay","window":{"fault":"delay","id":0}}` + "\n"))
	f.Add([]byte(`{"index":0,"time":1,"process":0,"client":0,"type":"invoke","f":"acquire","lease":{"token":"t"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, _, err := ReadOps(bytes.NewReader(data), "fuzz")
		if err == nil {
			_ = Hash(Evidence{Ops: ops})
		}
	})
}

func TestACommandFailedIfItsReplyIsAnError(t *testing.T) {
	tests := map[Bytes]bool{
		"ERR unknown command":                             true,
		"READONLY You can't write against a read replica": true,
		"NOSCRIPT No matching script.":                    true,
		"OK":                                              false,
		"nil":                                             false,
		"1":                                               false,
		`"ERR in a value"`:                                false,
		"[OK nil]":                                        false,
		"":                                                false,
	}
	for reply, want := range tests {
		if got := (Command{Reply: reply}).Failed(); got != want {
			t.Errorf("reply %s: got failed %v, want %v", reply, got, want)
		}
	}
}
