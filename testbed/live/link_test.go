package live

import (
	"bufio"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/gate"
)

// newLinked returns a link from c0 to a node that answers everything with OK. died gets the error with which
// the node dies.
func newLinked(t *testing.T, died func(error)) *link {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	place := slowPlace{start: make(chan Server, 1)}
	n := newStubNode(t, place)
	n.died = died
	startAs(t, n, place, newObedient(t))
	gate := gate.New(gate.Options{Clients: 1, Clock: n.clock, Commands: func(history.Command) {}})
	proxies := newProxies()
	l, err := newLink(proxies, gate, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gate.Close()
		proxies.heal()
		proxies.close()
		if err := errors.Join(l.close(), n.close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ending returns the value that done delivers. It fails the test if none comes within ten seconds.
func ending[T any](t *testing.T, done <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-done:
	case <-time.After(10 * time.Second):
		t.Error("it waits for ever")
	}
	return got
}

// TestAStrangerIsTakenForNoClient connects to the address that stands for the link, as a client's library
// might, before the client dials.
func TestAStrangerIsTakenForNoClient(t *testing.T) {
	l := newLinked(t, mustLive(t))
	stranger, err := net.Dial("tcp4", l.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	for n := range 2 {
		got, err := l.dial(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		if _, err := got.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(got).ReadString('\n'); err != nil || line != "+OK\r\n" {
			t.Errorf("got %q, %v, want its own answer", line, err)
		}
		if number := l.number(known{0, "n0", n + 1}); number != n+1 {
			t.Errorf("for the proxy it is connection %d, want %d", number, n+1)
		}
	}
	if _, err := stranger.Read(make([]byte, 1)); err == nil {
		t.Error("the stranger got an answer")
	}
}
