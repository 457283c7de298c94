package live

import (
	"bufio"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/gate"
)

// newLinked returns a link from c0 to a node that answers everything with OK. The link accepts the
// proxy's connections only after accepting was called.
func newLinked(t *testing.T) (l *link, accepting func()) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	place := slowPlace{start: make(chan Server, 1)}
	n := newStubNode(t, place)
	startAs(t, n, place, newObedient(t))
	gate := gate.New(gate.Options{Clients: 1, Clock: n.clock, Commands: func(history.Command) {}})
	proxies := newProxies(mustLive(t))
	l, err := unattended(proxies, gate, 0, n)
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
	return l, func() { l.serving.Go(l.accept) }
}

// dialled is what a dial returned: a connection or an error.
type dialled struct {
	net.Conn
	error
}

// begin starts a dial and returns a channel for the result.
func begin(ctx context.Context, l *link) <-chan dialled {
	done := make(chan dialled, 1)
	go func() {
		c, err := l.dial(ctx, 0)
		done <- dialled{c, err}
	}()
	return done
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

func TestADialEndsWhoseProxyReachesNobody(t *testing.T) {
	l, _ := newLinked(t)
	l.tap.Close()
	for range 2 { // the second dial must not get the first dial's refusal
		if got := ending(t, begin(t.Context(), l)); !errors.Is(got.error, errRefused) {
			t.Errorf("got %v, want %v", got.error, errRefused)
		}
	}
	moved := make(chan error, 1)
	go func() { moved <- l.retarget(t.Context(), &node{name: "n1"}) }()
	if err := ending(t, moved); err != nil {
		t.Errorf("the link cannot be led elsewhere after that: %v", err)
	}
}

// TestADialThatIsGivenUpIsTakenForNoOther checks that the connection of a dial that was given up is
// not matched to the second dial, although that connection arrives first.
func TestADialThatIsGivenUpIsTakenForNoOther(t *testing.T) {
	l, accepting := newLinked(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := begin(ctx, l)
	for len(l.dialling) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if got := ending(t, first); !errors.Is(got.error, context.Canceled) {
		t.Fatalf("given up: got %v, want %v", got.error, context.Canceled)
	}
	busy, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := l.retarget(busy, &node{name: "n1"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while nobody knows what became of it: got %v, want %v", err, context.DeadlineExceeded)
	}
	second := begin(t.Context(), l)
	accepting()
	got := ending(t, second)
	if got.error != nil {
		t.Fatal(got.error)
	}
	defer got.Close()
	if _, err := got.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(got).ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Errorf("got %q, %v, want its own answer", line, err)
	}
	if number := l.number(known{0, "n0", 2}); number != 2 {
		t.Errorf("for the proxy it is connection %d, want 2: it has seen the first", number)
	}
}
