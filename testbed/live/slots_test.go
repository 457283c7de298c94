package live

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// obedient is a server that records every command, runs none, and answers OK.
type obedient struct {
	*stub
	mu   sync.Mutex
	told []string
}

// listens makes a listener, serves each connection to it, and returns its address.
func listens(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

func newObedient(t *testing.T) *obedient {
	t.Helper()
	s := new(obedient)
	s.stub = newStub(listens(t, s.serve))
	return s
}

func (s *obedient) serve(c net.Conn) {
	defer c.Close()
	for r := resp.NewReader(c); ; {
		m, err := resp.Read(r)
		if err != nil {
			return
		}
		args, _ := m.Args()
		if resp.Name(args) == "HELLO" {
			if _, err := c.Write([]byte("-ERR unknown command\r\n")); err != nil {
				return
			}
			continue
		}
		var words []string
		for _, a := range args {
			words = append(words, string(a))
		}
		s.mu.Lock()
		s.told = append(s.told, strings.Join(words, " "))
		s.mu.Unlock()
		if _, err := c.Write([]byte("+OK\r\n")); err != nil {
			return
		}
	}
}

func TestSlotsStayWhereNobodyKnowsWhetherTheirKeysHaveMoved(t *testing.T) {
	heir := newObedient(t)
	place := slowPlace{start: make(chan Server, 1)}
	from, to := newStubNode(t, place), newStubNode(t, place) // from is down
	to.name = "n1"
	startAs(t, to, place, heir)
	proxies := newProxies()
	link, door, err := proxies.forward("n0", "n1 (slots)", "127.0.0.1", heir.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer proxies.close()
	m := migration{
		clusterEnv: clusterEnv{ownEnv{&env{nodes: []*node{from, to}}}, new(cluster)},
		from:       from, to: to, slots: []int64{7}, link: link, door: door, keys: 1,
	}
	if err := m.abandon(t.Context()); err == nil {
		t.Error("nobody is told that the old master does not answer")
	}
	heir.mu.Lock()
	defer heir.mu.Unlock()
	if want := []string{"CLUSTER SETSLOT 7 STABLE"}; !slices.EqualFunc(heir.told, want, strings.EqualFold) {
		t.Errorf("the new master is told %q, want %q", heir.told, want)
	}
	if err := to.close(); err != nil {
		t.Error(err)
	}
}
