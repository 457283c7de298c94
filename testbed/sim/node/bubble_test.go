package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// A node is created once and serves many bubbles, so that nothing in it may belong to a bubble.
func TestNodeServesOneBubbleAfterAnother(t *testing.T) {
	n := newNode(t)
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			n.Reset()
			s := n.Connect()
			play(t, s, []step{{0, "SET k v PX 10", "+OK"}, {0, "EVAL return_redis.call('GET','k') 0", "$1 v"}})
			for _, script := range []string{"while true do end", "table.insert(string, 1)", "return math.random(10)"} {
				s.Exec(time.Now(), []string{"EVAL", script, "0"})
			}
			n.Load(time.Now(), n.Snapshot(time.Now()))
			time.Sleep(time.Second)
			play(t, s, []step{{11, "GET k", "$-1"}})
		})
	}
}
