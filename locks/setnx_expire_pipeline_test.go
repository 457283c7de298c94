package locks

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAttemptsAtABusyLockProlongTheHoldersKey(t *testing.T) {
	tests := []struct {
		recipe string
		want   bool
	}{
		{"setnx-expire", false}, {"lua-setnx-expire", false},
		{"setnx-expire-pipeline", true}, {"setnx-expire-multi", true},
	}
	for _, tt := range tests {
		t.Run(tt.recipe, func(t *testing.T) {
			holder := newClient(t, 0)
			acquire(t, newLock(t, tt.recipe, holder, time.Minute))
			shorten(t, holder, "k", 10*time.Second)
			if _, err := newLock(t, tt.recipe, newClient(t, 1), time.Minute).TryLock(t.Context()); err != ErrBusy {
				t.Errorf("got %v, want %v", err, ErrBusy)
			}
			if got := life(t, holder, "k"); got > 10*time.Second != tt.want {
				t.Errorf("the holder's key lives for %v, prolonged: want %t", got, tt.want)
			}
		})
	}
}

// cutting is a connection that breaks during its first write that contains the word. The bytes
// before the word still arrive.
type cutting struct {
	net.Conn
	word string
}

func (c cutting) Write(b []byte) (int, error) {
	before := bytes.Index(b, []byte(c.word))
	if before < 0 {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:before])
	return n, errors.Join(errConnectionLost, err, c.Conn.Close())
}

// cutName is the name (CLIENT SETNAME) of cutting connections in the node's list of clients.
const cutName = "cut"

// cutBefore makes the client use cutting connections, which break just before the word.
func cutBefore(t *testing.T, c *Client, word string) {
	t.Helper()
	o := *c.Nodes[0].(*redis.Client).Options()
	o.ClientName = cutName
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := c.Dial(ctx, network, addr)
		return cutting{conn, word}, err
	}
	node := redis.NewClient(&o)
	t.Cleanup(func() { _ = node.Close() })
	c.Nodes[0] = node
}

func TestAConnectionLostBeforeExpire(t *testing.T) {
	for recipe, want := range map[string]time.Duration{"setnx-expire-pipeline": -1, "setnx-expire-multi": -2} {
		t.Run(recipe, func(t *testing.T) {
			reader, c := newClient(t, 0), newClient(t, 1)
			cutBefore(t, c, "EXPIRE")
			if _, err := newLock(t, recipe, c, time.Minute).TryLock(t.Context()); !errors.Is(err, errConnectionLost) {
				t.Errorf("got %v, want the connection's error", err)
			}
			// The node drops the connection after it has read everything that arrived.
			eventually(t, "the node has dropped the connection", func() bool {
				clients, err := reader.Nodes[0].ClientList(t.Context()).Result()
				if err != nil {
					t.Fatal(err)
				}
				return !strings.Contains(clients, "name="+cutName)
			})
			if got := life(t, reader, "k"); got != want {
				t.Errorf("the key's life is %v, want %v", got, want)
			}
		})
	}
}
