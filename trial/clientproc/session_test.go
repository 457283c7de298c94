package clientproc

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"reflect"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// operations draws entries like those of clients, with arbitrary bytes in their strings.
func operations(t *rapid.T) history.Op {
	text := rapid.OneOf(rapid.StringN(0, 9, -1), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 9), func(b []byte) string { return string(b) }))
	op := history.Op{
		Process: history.Process(rapid.IntRange(0, 9).Draw(t, "process")), Client: rapid.IntRange(0, 3).Draw(t, "client"),
		F: rapid.SampledFrom([]string{history.FAcquire, history.FRelease, history.FWrite}).Draw(t, "f"), Lock: text.Draw(t, "lock"),
		Mode: rapid.SampledFrom([]history.Mode{"", history.Read, history.Write}).Draw(t, "mode"), Error: text.Draw(t, "error"),
		Seq: rapid.Int64().Draw(t, "seq"),
	}
	if rapid.Bool().Draw(t, "leased") {
		op.Lease = &history.Lease{Token: text.Draw(t, "token"), Fence: rapid.Int64().Draw(t, "fence"), Deadline: time.Duration(rapid.Int64().Draw(t, "deadline"))}
	}
	if n := rapid.IntRange(0, 3).Draw(t, "values"); n > 0 {
		op.Value = rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "value")
	}
	return op
}

// If a client cannot learn the slots of a cluster, its error has the cause, not only the timeout.
func TestAClusterThatCannotBeLearntSaysWhy(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nothing listens there now
	s := &Session{locks: new(locks.Client), hello: Hello{
		Route: testbed.Route{Cluster: true, Addrs: []string{"n0"}}, Relay: l.Addr().String(), CommandTimeout: time.Second,
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err = s.connectCluster(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want that time was up and that the connection was refused", err)
	}
	if err := s.locks.Nodes[0].Close(); err != nil {
		t.Error(err)
	}
}

// The trial's recorder returns an entry as the session sent it, plus the index, the time and the type
// that the recorder gave it. This holds for arbitrary strings.
func TestEntriesCrossThePipeUnchanged(t *testing.T) {
	rec := history.NewRecorder(nil, func() time.Duration { return 7 })
	here, there := net.Pipe()
	server := rpc.NewServer()
	if err := server.RegisterName(serviceName, &trial{world: World{Rec: rec}}); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.ServeCodec(newCodec(pipes{here, here}, new(atomic.Bool)))
	}()
	s := &Session{calls: rpc.NewClient(there)}
	rapid.Check(t, func(r *rapid.T) {
		op := operations(r)
		before := len(rec.Ops())
		entry, err := s.Event(op)
		if err != nil {
			r.Fatal(err)
		}
		op.Index, op.Time, op.Type = before, 7, history.Info
		if got := rec.Ops()[before]; !reflect.DeepEqual(got, op) || !reflect.DeepEqual(entry, op) {
			r.Fatalf("recorded %+v, answered %+v, want %+v", got, entry, op)
		}
	})
	if err := s.calls.Close(); err != nil {
		t.Error(err)
	}
	<-served
}
