package gate

import (
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

func TestNodesStampsAreMergedEvenIfTheClientHasGone(t *testing.T) {
	ok := resp.Message("+OK\r\n")
	for name, c := range map[string]struct {
		steps func(w *gated, c *Conn)
		want  history.Command // Arrived, Served and Replied are 1 if they must be set
	}{
		"replied": {func(w *gated, c *Conn) {
			c.Arrived(1, "n7", 3)
			c.Served(1, ok)
			w.node.Write(ok)
			replies(c, 1)
		}, history.Command{Node: "n7", Exec: 3, Arrived: 1, Served: 1, Replied: 1, Reply: "OK"}},
		"reply lost": {func(w *gated, c *Conn) {
			c.Arrived(1, "n7", 3)
			c.Served(1, ok)
			c.Close()
		}, history.Command{Node: "n7", Exec: 3, Arrived: 1, Served: 1, Reply: "OK"}},
		"arrives after the client has gone": {func(w *gated, c *Conn) {
			c.Close()
			c.Arrived(1, "n7", 3)
			c.Served(1, ok)
		}, history.Command{Node: "n7", Exec: 3, Arrived: 1, Served: 1, Reply: "OK"}},
		"never arrives": {func(w *gated, c *Conn) {
			c.Close()
			c.NodeEnded()
		}, history.Command{Node: "n0"}},
		"node dies with it": {func(w *gated, c *Conn) {
			c.Arrived(1, "n7", 3)
			c.NodeEnded()
			c.Close()
		}, history.Command{Node: "n7", Exec: 3, Arrived: 1}},
		"client crashes": {func(w *gated, c *Conn) {
			c.Arrived(1, "n7", 3)
			w.gate.CrashClient(0)
			c.Served(1, ok)
			w.node.Write(ok)
		}, history.Command{Node: "n7", Exec: 3, Arrived: 1, Served: 1, Reply: "OK"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, false, func(w *gated) {
				w.conn.Observe()
				go io.WriteString(w.conn, wire("SET k v"))
				resp.Read(resp.NewReader(w.node))
				synctest.Wait()
				if got := w.gate.Outstanding(); len(got) != 1 || got[0].Sent == 0 {
					t.Errorf("outstanding: got %v, want the SET", got)
				}
				c.steps(w, w.conn)
				synctest.Wait()
				if len(w.gate.Outstanding()) > 0 || len(w.commands) != 1 {
					t.Fatalf("got %v ended, %v outstanding, want one ended", w.commands, w.gate.Outstanding())
				}
				got := w.commands[0]
				for _, d := range []*time.Duration{&got.Arrived, &got.Served, &got.Replied} {
					*d = min(*d, 1)
				}
				want := c.want
				want.Conn, want.Op, want.N, want.Args, want.Sent = 1, -1, 1, []history.Bytes{"SET", "k", "v"}, got.Sent
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			})
		})
	}
}

func TestFlushPassesOnWhatNeverEnded(t *testing.T) {
	var w *gated
	inBubble(t, false, func(in *gated) {
		w = in
		w.conn.Observe() // but the node's side never calls Arrived or Served
		go io.WriteString(w.conn, wire("SET a 1", "SET b 2"))
		r := resp.NewReader(w.node)
		resp.Read(r)
		resp.Read(r)
	})
	if len(w.commands) != 2 || w.commands[0].Index != 0 || w.commands[1].Index != 1 {
		t.Errorf("got %+v, want both commands in order", w.commands)
	}
}
