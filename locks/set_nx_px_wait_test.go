package locks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
)

// replica starts a redis-server that follows the first node until the test ends.
func replica(t *testing.T, c *Client) *redisserver.Server {
	t.Helper()
	host, port, _ := strings.Cut(c.Addrs[0], ":")
	s := redistest.Test(t, "--replicaof", fmt.Sprintf("%s %s", host, port))
	eventually(t, "the replica follows", func() bool {
		return c.Nodes[0].Do(t.Context(), "WAIT", 1, 1).Val() == int64(1)
	})
	return s
}

func TestSetNXPXWaitOnTheWire(t *testing.T) {
	c := newClient(t, 0)
	replica(t, c)
	loadScripts(t, c, compareAndDelete)
	a, b := newLock(t, "set-nx-px-wait", c, time.Minute), newLock(t, "set-nx-px-wait", newClient(t, 1), time.Minute)
	var lease Lease
	play(t, []step{
		{"acquire", try(t, a, &lease), "SET k $token NX PX 60000, WAIT 1 6000", nil},
		{"busy", try(t, b, nil), "SET k $token NX PX 60000", ErrBusy},
		{"release", release(t, a, &lease), "EVALSHA compare-and-delete 1 k $token, lua GET k, lua DEL k", nil},
	})
}

func TestSetNXPXWaitIsNotHeldWithoutAReplicaThatHasIt(t *testing.T) {
	tests := []struct {
		name     string
		replicas int
		frozen   bool
		held     bool
	}{
		{"no replica", 0, false, false},
		{"a replica", 1, false, true},
		{"a replica that is frozen", 1, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, 0)
			for range tt.replicas {
				s := replica(t, c)
				if tt.frozen {
					if err := s.Pause(); err != nil {
						t.Fatal(err)
					}
					defer func() { _ = s.Resume() }()
				}
			}
			ttl := time.Minute
			if !tt.held {
				ttl = time.Second
			}
			lease, err := newLock(t, "set-nx-px-wait", c, ttl).TryLock(t.Context())
			if tt.held && err != nil || !tt.held && !errors.Is(err, ErrBusy) {
				t.Errorf("got %v, want held %t", err, tt.held)
			}
			if tt.held == lease.Deadline.IsZero() {
				t.Errorf("deadline %v, held %t", lease.Deadline, tt.held)
			}
			want := ""
			if tt.held {
				want = lease.Token
			}
			if got := values(t, c); got[0] != want {
				t.Errorf("the node holds %q, want %q", got[0], want)
			}
		})
	}
}

func TestSetNXPXWaitWithoutAnAnswerIsUnknownAndTheKeyStays(t *testing.T) {
	for n, sent := range []string{"SET", "WAIT"} {
		c := newClient(t, 0)
		loseReply(c, n+1)
		lease, err := newLock(t, "set-nx-px-wait", c, time.Second).TryLock(t.Context())
		checkUnknown(t, err)
		if got := values(t, c); got[0] != lease.Token || lease.Token == "" {
			t.Errorf("the reply to %s is lost: the node holds %q, want the token %q", sent, got[0], lease.Token)
		}
		expireNow(t, c, "k")
	}
}
