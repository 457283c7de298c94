package external

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// TestEveryRecipeStaysAmongItsOwnKeys runs each recipe on servers with keys of
// others, one of them by the name of the lock, while MONITOR watches what runs,
// also inside scripts.
func TestEveryRecipeStaysAmongItsOwnKeys(t *testing.T) {
	var o Options
	var same []func() error
	var watched []*monitor
	for range 3 {
		s := startRedis(t)
		c := admin(t, &redis.Options{Addr: s.Addr()})
		same = append(same, foreign(t, c))
		watched = append(watched, watch(t, s.Addr()))
		o.Addrs = append(o.Addrs, s.Addr())
	}
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("recipes", func(t *testing.T) {
		for _, r := range locks.All() {
			t.Run(r.ID, func(t *testing.T) {
				topology := map[locks.Topology]testbed.Topology{
					locks.Single: testbed.Single, locks.Independent: testbed.Independent,
				}[r.Topology]
				if topology == "" {
					t.Skipf("needs %s nodes, which this testbed has not", r.Topology)
				}
				t.Parallel()
				tryRecipe(t, tb, r, topology)
			})
		}
	})
	for _, same := range same {
		if err := same(); err != nil {
			t.Error(err)
		}
	}
	for _, m := range watched {
		if len(m.all()) == 0 {
			t.Error("MONITOR saw nothing")
		}
		for _, line := range m.all() {
			if err := confined(line); err != nil {
				t.Error(err)
			}
		}
	}
}

// tryRecipe runs one trial in which the recipe's locks are granted.
func tryRecipe(t *testing.T, tb *Testbed, r locks.Recipe, topology testbed.Topology) {
	t.Helper()
	c := campaign.DefaultConfig()
	c.Testbed, c.Topology, c.Nodes, c.Clients, c.Duration = Name, topology, 3, 3, 50*time.Millisecond
	c.TTL, c.Hold = 5*time.Second, 10*time.Millisecond
	if topology == testbed.Independent {
		c.TTL = 30 * time.Second // RedLock's patience with a node is a share of it
	}
	claims := r.Claims(c.TTL, 3)
	i := slices.IndexFunc(workloads.All(), func(w workloads.Workload) bool { return w.Standard && w.Suits(claims) })
	spec, err := campaign.PlanTrial(t.Context(), tb, c, r.ID, "none", workloads.All()[i].Name, 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := campaign.RunTrial(t.Context(), tb, spec, history.NewRecorder(io.Discard, tb.Clock()), nil)
	if err != nil {
		t.Fatal(err)
	}
	granted := slices.ContainsFunc(e.Ops, func(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK })
	if !granted {
		t.Errorf("no lock was granted in %d entries", len(e.Ops))
	}
	for _, c := range e.Commands {
		for _, text := range append(slices.Clone(c.Args), c.Reply) {
			if strings.Contains(string(text), family) {
				t.Fatalf("the prefix is in the evidence: %+v", c)
			}
		}
	}
}

// monitor collects what MONITOR says.
type monitor struct {
	conn  net.Conn
	ended chan struct{}
	lines []string // until ended is closed somebody else's
}

func watch(t *testing.T, addr string) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	m := &monitor{conn: conn, ended: make(chan struct{})}
	if _, err := conn.Write(encode("MONITOR")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	if ok, err := lines.ReadString('\n'); ok != "+OK\r\n" {
		t.Fatal(ok, err)
	}
	go func() {
		defer close(m.ended)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			m.lines = append(m.lines, strings.TrimSpace(line))
		}
	}()
	t.Cleanup(func() { m.all() })
	return m
}

// all ends the watch and returns what was seen.
func (m *monitor) all() []string {
	_ = m.conn.Close()
	<-m.ended
	return m.lines
}

// confined says what in a line of MONITOR touches what is not a trial's:
//
//	1700000000.123456 [0 127.0.0.1:1234] "SET" "lockstorm:4fc1…:lock-0" "x"
func confined(line string) error {
	_, rest, _ := strings.Cut(line, "] ")
	var args []string
	for quoted := range strings.SplitSeq(strings.Trim(rest, `"`), `" "`) {
		args = append(args, quoted)
	}
	name := strings.ToUpper(args[0])
	r, known := rules[name]
	switch {
	case slices.Contains([]string{"KEYS", "DUMP", "MONITOR", "AUTH", "SELECT"}, name):
		return nil // the test's own, and logging in
	case !known:
		return fmt.Errorf("%s ran", line)
	case strings.HasPrefix(name, "EVAL"):
		var n int
		fmt.Sscan(args[2], &n)
		r = rule{first: 3, last: 2 + n, step: 1}
	}
	for _, i := range r.places(len(args)) {
		if !strings.HasPrefix(args[i], family) {
			return fmt.Errorf("%s touches %s", line, args[i])
		}
	}
	return nil
}
