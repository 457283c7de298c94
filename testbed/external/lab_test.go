package external

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// startLab plays the lab: toxiproxy's own server and redis-server processes.
func startLab(t *testing.T, masters int) labPlace {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // the lab's lock stays
	s := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	api := httptest.NewServer(s.Routes())
	t.Cleanup(func() {
		if left := s.Collection.Proxies(); len(left) > 0 {
			t.Errorf("left in toxiproxy: %v", left)
		}
		api.Close()
		idle()
	})
	p := labPlace{api: strings.TrimPrefix(api.URL, "http://"), host: "127.0.0.1", firstPort: firstLabPort(t), ports: testPorts}
	for range masters {
		addr := startRedis(t).Addr()
		p.masters = append(p.masters, labNode{addr, addr})
	}
	primary := startRedis(t)
	replica := startRedis(t, "--replicaof", "127.0.0.1", strings.TrimPrefix(primary.Addr(), "127.0.0.1:"))
	p.group = []labNode{{primary.Addr(), primary.Addr()}, {replica.Addr(), replica.Addr()}}
	return p
}

// testPorts is how many ports a test's lab has for clients.
const testPorts = 60

// firstLabPort is the first of testPorts that nobody has, below those that others
// take.
func firstLabPort(t *testing.T) int {
	t.Helper()
	const ranges = 60
	for n := range ranges {
		first := 5000 + testPorts*((syscall.Getpid()*7+n)%ranges)
		if freePorts(first, testPorts) {
			return first
		}
	}
	t.Fatal("no ports for a lab are free")
	return 0
}

// freePorts says whether all those ports are free.
func freePorts(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// labHasty is the clients' patience where something is meant to time out.
const labHasty = 250 * time.Millisecond

// inLab runs body in a world of the lab and returns its commands.
func inLab(t *testing.T, s testbed.Setup, body func(context.Context, testbed.Env) error) (commands []history.Command) {
	t.Helper()
	l, err := openLab(t.Context(), startLab(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s.Topology == "" {
		s.Topology = testbed.Single
	}
	s.Clients = 2
	s.Clock = l.Clock()
	var mu sync.Mutex
	s.Commands = func(c history.Command) {
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, c)
	}
	if err := l.Run(t.Context(), s, body); err != nil {
		t.Error(err)
	}
	return commands
}

// onNode is a key's value on a node of the lab.
func onNode(ctx context.Context, e testbed.Env, key string) string {
	keys, _ := e.(testbed.Inspector).Keys(ctx, "n0")
	for _, k := range keys {
		if k.Key == key {
			return string(k.Value)
		}
	}
	return ""
}

func awaitOnNode(ctx context.Context, e testbed.Env, key, want string) error {
	for end := e.Now() + 30*time.Second; e.Now() < end; time.Sleep(time.Millisecond) {
		if onNode(ctx, e, key) == want {
			return nil
		}
	}
	return errors.New(key + " is not " + want + " on the node")
}

var c0n0 = testbed.Link{From: "c0", To: "n0"}

func TestACutInTheLabLosesWhatGoesThatWay(t *testing.T) {
	for d, applied := range map[testbed.Direction]string{testbed.Upstream: "", testbed.Downstream: "1", testbed.Both: ""} {
		t.Run(string(d), func(t *testing.T) {
			commands := inLab(t, testbed.Setup{CommandTimeout: time.Minute}, func(ctx context.Context, e testbed.Env) error {
				undo, err := e.(testbed.Network).Cut(ctx, c0n0, d)
				if err != nil {
					return err
				}
				hasty, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if err := first(e).Set(hasty, "k", "1", 0).Err(); err == nil {
					t.Error("during the cut: got no error")
				}
				if err := e.Client(1).Locks().Nodes[0].Set(ctx, "other", "1", 0).Err(); err != nil {
					t.Errorf("on another link: %v", err)
				}
				if got := onNode(ctx, e, "k"); got != applied {
					t.Errorf("applied: got %q, want %q", got, applied)
				}
				for range 2 {
					if hits, err := undo(ctx); hits != 1 || err != nil {
						t.Errorf("undo: got %d hits, %v, want 1", hits, err)
					}
				}
				return awaitSet(ctx, e)
			})
			for _, c := range commands {
				key := ""
				if testbed.CommandName(c.Args) == "SET" {
					key = string(c.Args[1])
				}
				// An attempt after the cut may meet a connection that it has ended.
				lost := key == "k" && applied == "" || key == "after" && c.Replied == 0 && c.Exec == 0
				if lost && c.Exec+int(c.Arrived)+int(c.Served) > 0 {
					t.Errorf("got %+v, though it was lost on its way", c)
				}
				if !lost && (c.Exec == 0 || c.Arrived < c.Sent || c.Served < c.Arrived || c.Replied > 0 && c.Replied < c.Served) {
					t.Errorf("got %+v, want it in the order of execution", c)
				}
			}
		})
	}
}

// awaitSet waits until the first client can write: what is left of connections
// that a cut ended may cost it some attempts.
func awaitSet(ctx context.Context, e testbed.Env) (err error) {
	for end := e.Now() + 30*time.Second; e.Now() < end; {
		if err = first(e).Set(ctx, "after", "1", 0).Err(); err == nil {
			return nil
		}
	}
	return err
}

func TestHeldRequestsInTheLabArriveThoughTheClientHasGone(t *testing.T) {
	inLab(t, testbed.Setup{CommandTimeout: labHasty}, func(ctx context.Context, e testbed.Env) error {
		undo, err := e.(testbed.Network).Hold(ctx, c0n0, testbed.Upstream)
		if err != nil {
			return err
		}
		if err := first(e).Set(ctx, "k", "late", 0).Err(); err == nil {
			t.Error("held: got no error")
		}
		if got := onNode(ctx, e, "k"); got != "" {
			t.Errorf("held: got %q on the node", got)
		}
		if hits, err := undo(ctx); hits == 0 || err != nil {
			t.Errorf("undo: got %d hits, %v", hits, err)
		}
		return errors.Join(awaitOnNode(ctx, e, "k", "late"), awaitSet(ctx, e))
	})
}

func TestHeldRepliesInTheLabComeLate(t *testing.T) {
	commands := inLab(t, testbed.Setup{CommandTimeout: time.Minute}, func(ctx context.Context, e testbed.Env) error {
		undo, err := e.(testbed.Network).Hold(ctx, c0n0, testbed.Downstream)
		if err != nil {
			return err
		}
		got := make(chan error, 1)
		go func() { got <- first(e).Set(ctx, "k", "1", 0).Err() }()
		if err := awaitOnNode(ctx, e, "k", "1"); err != nil {
			return err
		}
		time.Sleep(labHasty)
		if hits, err := undo(ctx); hits != 1 || err != nil {
			t.Errorf("undo: got %d hits, %v, want 1", hits, err)
		}
		return <-got
	})
	for _, c := range commands {
		if testbed.CommandName(c.Args) == "SET" && c.Replied-c.Sent < labHasty {
			t.Errorf("got %+v, want it replied late", c)
		}
	}
}

func TestAResetInTheLabReachesOldAndNewConnections(t *testing.T) {
	inLab(t, testbed.Setup{CommandTimeout: time.Minute}, func(ctx context.Context, e testbed.Env) error {
		undo, err := e.(testbed.Network).Reset(ctx, c0n0)
		if err != nil {
			return err
		}
		for range 4 {
			if err := first(e).Set(ctx, "k", "1", 0).Err(); err == nil {
				t.Error("during the reset: got no error")
			}
		}
		if hits, err := undo(ctx); hits < 3 || err != nil {
			t.Errorf("undo: got %d hits, %v, want the warm connections and a new one", hits, err)
		}
		return awaitSet(ctx, e)
	})
}

func TestAResetOfIdleConnectionsInTheLabHitsNobody(t *testing.T) {
	inLab(t, testbed.Setup{CommandTimeout: time.Minute}, func(ctx context.Context, e testbed.Env) error {
		if err := first(e).Set(ctx, "k", "1", 0).Err(); err != nil {
			return err
		}
		undo, err := e.(testbed.Network).Reset(ctx, c0n0)
		if err != nil {
			return err
		}
		if err := e.Client(1).Locks().Nodes[0].Set(ctx, "other", "1", 0).Err(); err != nil {
			t.Errorf("on another link: %v", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if hits, err := undo(ended); hits != 0 || err != nil {
			t.Errorf("undo: got %d hits, %v, want none", hits, err)
		}
		return first(e).Set(ctx, "k", "2", 0).Err() // by a new connection
	})
}

func TestTheLabLeavesNothingWithFaultsInForce(t *testing.T) {
	inLab(t, testbed.Setup{CommandTimeout: labHasty, Topology: testbed.Independent, Nodes: 3}, func(ctx context.Context, e testbed.Env) error {
		n := e.(testbed.Network)
		_, hold := n.Hold(ctx, c0n0, testbed.Both)
		_, cut := n.Cut(ctx, testbed.Link{From: "c0", To: "n1"}, testbed.Downstream)
		_, reset := n.Reset(ctx, testbed.Link{From: "c1", To: "n2"})
		for _, c := range []int{0, 1} {
			for _, r := range e.Client(c).Locks().Nodes {
				_ = r.Set(ctx, "k", "1", 0).Err()
			}
		}
		return errors.Join(hold, cut, reset)
	})
}

func TestWhatTheLabCannotTearDownIsSaidBesideWhatFailed(t *testing.T) {
	l, err := openLab(t.Context(), startLab(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	failed := errors.New("failed")
	s := testbed.Setup{Topology: testbed.Single, Clients: 1, Clock: l.Clock(), Commands: func(history.Command) {}}
	err = l.Run(t.Context(), s, func(_ context.Context, e testbed.Env) error {
		e.(*labEnv).nodes[0].straight = "127.0.0.1:1"
		return failed
	})
	var left *testbed.TeardownError
	if !errors.Is(err, failed) || !errors.As(err, &left) || !errors.Is(left, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with both errors", err)
	}
}

func TestTheLabHasTheTopologiesThatItSays(t *testing.T) {
	for topology, nodes := range map[testbed.Topology]string{
		testbed.Single: "n0", testbed.Replicated: "n0", testbed.Independent: "n0 n1 n2",
	} {
		t.Run(string(topology), func(t *testing.T) {
			inLab(t, testbed.Setup{Topology: topology, Nodes: 3}, func(ctx context.Context, e testbed.Env) error {
				if got := strings.Join(e.(testbed.Inspector).List(), " "); got != nodes {
					t.Errorf("got %s, want %s", got, nodes)
				}
				if _, ok := e.(testbed.Nodes); ok {
					t.Error("the lab's nodes can be disturbed, says its world")
				}
				for _, r := range e.Client(0).Locks().Nodes {
					if err := r.Set(ctx, "k", "1", 0).Err(); err != nil {
						return err
					}
				}
				return awaitOnNode(ctx, e, "k", "1")
			})
		})
	}
}

func TestWhyTheLabCannotBeDrivenIsOneLine(t *testing.T) {
	p := startLab(t, 1)
	l, err := openLab(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	_, again := openLab(t.Context(), p)
	_, many := OpenLab(t.Context(), 2)
	gone := p
	gone.api = "127.0.0.1:1"
	_, down := openLab(t.Context(), gone)
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	gone.api = strings.TrimPrefix(stranger.URL, "http://")
	_, other := openLab(t.Context(), gone)
	gone = p
	gone.masters = []labNode{{"master-0:6379", "127.0.0.1:1"}}
	_, half := openLab(t.Context(), gone)
	_, digits := standingLab("", "x")
	for want, err := range map[string]error{
		"somebody else drives the lab": again,
		"the lab bears one":            many,
		"no toxiproxy at 127.0.0.1:1: start the lab with `make up` (connect: connection refused)": down,
		"start the lab with `make up` (json: ":                                                    other,
		"no Redis at 127.0.0.1:1: start the lab with `make up`":                                   half,
		"expected the first digits of ports":                                                      digits,
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %q", err, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if l, err = openLab(t.Context(), p); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	l.Close()
}
