package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// sources are the source addresses of peers, by peer.
var sources = map[string]string{"a": "127.3.2.1", "b": "127.3.2.2"}

// lobby is a peer proxy in front of a server that echoes what it receives.
type lobby struct {
	*testing.T
	peerProxies *peerProxies
	peerProxy   *peerProxy
	server      atomic.Value // the server's address as a string; "" while the server is down
	heard       chan string
}

func newLobby(t *testing.T) *lobby {
	if runtime.GOOS != "linux" {
		t.Skip("needs addresses of 127.0.0.0/8 to come from, which Linux alone has without being told")
	}
	t.Cleanup(func() { goleak.VerifyNone(t) })
	l := &lobby{T: t, heard: make(chan string, 100)}
	proxies := newProxies()
	l.peerProxies = newPeerProxies(proxies, hopeless{})
	l.serve()
	var err error
	l.peerProxy, err = l.peerProxies.open("server", []string{"a", "b", "c"}, func() (string, error) {
		if addr := l.server.Load().(string); addr != "" {
			return addr, nil
		}
		return "", errors.New("down")
	}, func(peer string, args []history.Bytes) { l.heard <- peer + ": " + resp.Name(args) })
	if err != nil {
		t.Fatal(err)
	}
	for name, addr := range sources {
		l.peerProxies.meet(addr, name)
	}
	t.Cleanup(func() {
		proxies.heal()
		proxies.close()
	})
	return l
}

// serve starts the echoing server at a new address. The proxy forwards new connections to that
// address.
func (l *lobby) serve() {
	s, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	l.server.Store(s.Addr().String())
	go func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	l.Cleanup(func() { s.Close() })
}

// visit is a peer's connection to the lobby's proxy.
type visit struct {
	*lobby
	net.Conn
	replies *bufio.Reader
}

func (l *lobby) visit(peer string) *visit {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(sources[peer])}}
	c, err := from.Dial("tcp4", l.peerProxy.announced())
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { c.Close() })
	return &visit{l, c, bufio.NewReader(c)}
}

func (v *visit) say(word string) { fmt.Fprintf(v, "*1\r\n$%d\r\n%s\r\n", len(word), word) }

// hears checks that the server echoes the word.
func (v *visit) hears(word string) {
	v.Helper()
	want := fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", len(word), word)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(v.replies, got); err != nil || string(got) != want {
		v.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// hearsNothing checks that nothing comes within 100 ms.
func (v *visit) hearsNothing() {
	v.Helper()
	v.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	defer v.SetReadDeadline(time.Time{})
	if b, err := v.replies.Peek(1); err == nil {
		v.Errorf("got %q, want nothing", b)
	}
}

func TestAPeerProxyTellsPeersApart(t *testing.T) {
	l := newLobby(t)
	for _, d := range []testbed.Direction{testbed.Upstream, testbed.Downstream, testbed.Both} {
		a, b := l.visit("a"), l.visit("b")
		for _, v := range []*visit{a, b} {
			v.say("ONE")
			v.hears("ONE")
		}
		undo := l.peerProxy.pairs["a"].impose(d, always(hold))
		a.say("TWO")
		b.say("TWO")
		b.hears("TWO")
		a.hearsNothing()
		undo()
		a.hears("TWO")
	}
	for range 6 {
		<-l.heard
	}
}

func TestAPeerProxyHearsWhatPeersSay(t *testing.T) {
	l := newLobby(t)
	a := l.visit("a")
	a.say("slaveof")
	a.hears("slaveof")
	if got := <-l.heard; got != "a: SLAVEOF" {
		t.Errorf("got %q, want a: SLAVEOF", got)
	}
}

func TestAPeerProxyLeadsToWhereItsServerIs(t *testing.T) {
	l := newLobby(t)
	l.visit("a").say("ONE")
	<-l.heard
	l.serve()
	a := l.visit("a")
	a.say("TWO")
	a.hears("TWO")
}

func TestAPeerProxyIsClosedToStrangersAndWhenItsServerIsDown(t *testing.T) {
	l := newLobby(t)
	up := l.server.Swap("")
	if _, err := l.visit("a").replies.ReadByte(); err != io.EOF {
		t.Errorf("while the server is down: got %v, want %v", err, io.EOF)
	}
	l.server.Store(up)
	c, err := net.Dial("tcp4", l.peerProxy.announced())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stranger := &visit{l, c, bufio.NewReader(c)}
	stranger.say("ONE")
	stranger.hearsNothing()
	l.peerProxies.meet(loopback, "c")
	stranger.hears("ONE")
}
