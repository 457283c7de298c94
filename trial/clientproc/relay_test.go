package clientproc

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// pairOf returns both ends of a TCP connection.
func pairOf(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

// through opens a relay with one connection: near is the client's end, far the node's.
func through(t testing.TB) (d *relay, near, far *net.TCPConn, number int) {
	t.Helper()
	inner, far := pairOf(t)
	d, err := openRelay(func(context.Context, int, string) (net.Conn, error) { return inner, nil })
	if err != nil {
		t.Fatal(err)
	}
	if near, number, err = dialRelay(t.Context(), d.Addr().String(), 0, "n0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		near.Close()
		far.Close()
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	return d, near, far, number
}

func TestTheRelayCarriesEveryByteBothWays(t *testing.T) {
	d, near, far, number := through(t)
	var total int64
	rapid.Check(t, func(r *rapid.T) {
		said := rapid.SliceOfN(rapid.Byte(), 1, 1<<16).Draw(r, "said")
		for from, to := range map[*net.TCPConn]*net.TCPConn{near: far, far: near} {
			go func() { _, _ = from.Write(said) }()
			heard := make([]byte, len(said))
			if _, err := io.ReadFull(to, heard); err != nil || !slices.Equal(said, heard) {
				r.Fatalf("of %d bytes came %d that are the same, %v", len(said), len(heard), err)
			}
		}
		total += int64(len(said))
		d.await(number, total) // all bytes have passed
	})
}

func TestWhatEndsOneSideOfARelayEndsTheOther(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*net.TCPConn)
		want error
	}{
		"closed": {func(c *net.TCPConn) { c.Close() }, io.EOF},
		"reset":  {func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() }, syscall.ECONNRESET},
	} {
		t.Run("node "+name, func(t *testing.T) {
			_, near, far, _ := through(t)
			test.end(far)
			if _, err := near.Read(make([]byte, 1)); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
		t.Run("client "+name, func(t *testing.T) {
			d, near, far, number := through(t)
			test.end(near)
			if _, err := far.Read(make([]byte, 1)); err == nil {
				t.Error("got no error")
			}
			d.await(number, 1) // the byte will never pass
		})
	}
}

func TestADialThatIsGivenUpIsGivenUpBehindTheRelay(t *testing.T) {
	gaveUp := make(chan struct{})
	d, err := openRelay(func(ctx context.Context, _ int, _ string) (net.Conn, error) {
		<-ctx.Done()
		close(gaveUp)
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := dialRelay(ctx, d.Addr().String(), 0, "n0"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	<-gaveUp
	if err := d.close(); err != nil {
		t.Error(err)
	}
	d.await(7, 1) // no such connection
}

// scanty is a listener whose first Accept fails for lack of file descriptors.
type scanty struct {
	net.Listener
	asked atomic.Bool
}

func (s *scanty) Accept() (net.Conn, error) {
	if !s.asked.Swap(true) {
		return nil, syscall.EMFILE
	}
	return s.Listener.Accept()
}

func TestARelayOutlastsAShortageOfFileDescriptors(t *testing.T) {
	inner, far := pairOf(t)
	defer far.Close()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := newRelay(&scanty{Listener: l}, func(context.Context, int, string) (net.Conn, error) { return inner, nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if c, _, err := dialRelay(ctx, d.Addr().String(), 0, "n0"); err != nil {
		t.Errorf("got %v, want a connection", err)
	} else {
		c.Close()
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

func TestWhoeverKnocksWithNonsenseIsToldWhatWasExpected(t *testing.T) {
	d, err := openRelay(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	c, err := net.Dial("tcp4", d.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\n")
	if got, err := readLine(c); err != nil || got != `no connection: expected a client and an address, got "GET / HTTP/1.1"` {
		t.Errorf("got %q, %v", got, err)
	}
}

// The client reads a refusal as one line, however long the error is.
func TestALongRefusalIsCutShort(t *testing.T) {
	line, err := readLine(strings.NewReader(refusal(errors.New(strings.Repeat("far\n", 1000))) + "\n"))
	if err != nil || !strings.HasPrefix(line, "no connection: far far ") {
		t.Errorf("got %.40q and %v, want the beginning of the error", line, err)
	}
}
