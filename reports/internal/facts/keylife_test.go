package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

func TestKeyLifeFollowsCommands(t *testing.T) {
	tests := []struct {
		name string
		fill func(*reporttest.Tape)
		want []string
	}{
		{"SET XX that was refused does nothing", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "nil", "SET k a PX 100 XX")
		}, nil},
		{"SET NX PX expires when its life ends", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.Command(1, "n0", 300, "0", "EXISTS k")
		}, []string{"c0 2ms-102ms expired"}},
		{"EXPIRE counts whole seconds from itself", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "1", "SETNX k a")
			p.Command(0, "n0", 11, "1", "EXPIRE k 1")
			p.Command(1, "n0", 2000, "0", "EXISTS k")
		}, []string{"c0 2ms-1.012s expired"}},
		{"SETNX alone lives for ever", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "1", "SETNX k a")
			p.Command(1, "n0", 2000, "0", "SETNX k b")
		}, []string{"c0 2ms-2.0018s  for ever"}},
		{"another client's DEL ends it", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.Command(1, "n0", 5, "1", "DEL k")
		}, []string{"c0 2ms-6ms deleted"}},
		{"GETSET hands it over and drops its life", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.Command(1, "n0", 5, `"a"`, "GETSET k b")
		}, []string{"c0 2ms-6ms set for ever", "c1 6ms-6.8ms  for ever"}},
		{"a script that was granted found the key free", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.Command(1, "n0", 200.9, "OK", "EVAL return(redis.call('SET',KEYS[1],ARGV[1],'NX')) 1 k b")
		}, []string{"c0 2ms-102ms expired", "c1 201.9ms-202.7ms  for ever"}},
		{"a script does what is seen of it", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.Command(0, "n0", 5, "0", "EVALSHA "+p.Script("compare-and-delete")+" 1 k b")
			p.Command(0, "n0", 9, "1", "EVALSHA "+p.Script("compare-and-delete")+" 1 k a")
		}, []string{"c0 2ms-10ms deleted"}},
		{"a command that was not seen to run does nothing", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "", "SET k a PX 1000 NX").Served = 0
		}, nil},
		{"a command that its node refused does nothing", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.Command(1, "n0", 5, "WRONGTYPE Operation against a key holding the wrong kind of value", "HDEL k a")
		}, []string{"c0 2ms-6.8ms "}},
		{"nodes have keys of their own", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "1", "SETNX k a")
			p.Command(1, "n1", 2, "1", "SETNX k a")
		}, []string{"c0 2ms-3.8ms  for ever", "c1 3ms-3.8ms  for ever"}},
		{"a counter of fencing tokens is nobody's", func(p *reporttest.Tape) {
			for c := range 2 {
				at := float64(1 + 10*c)
				p.Op(c, history.FAcquire, at, at+4, history.OK, func(o *history.Op) { o.Lease = &history.Lease{Token: "a", Fence: int64(c + 1)} })
				p.Command(c, "n0", at+1, "OK", "SET k a NX PX 1000")
				p.Command(c, "n0", at+2, fmt.Sprint(c+1), "INCR k:fence")
				p.Command(c, "n0", at+6, "1", "DEL k")
			}
		}, []string{"c0 3ms-8ms deleted", "c1 13ms-18ms deleted"}},
		{"a node that came back without its data lost it when it went", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "1", "SETNX k a")
			p.Event(history.FNodeDown, 20, func(o *history.Op) { o.Node = "n0" })
			p.Event(history.FNodeUp, 40, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Keys: true} })
		}, []string{"c0 2ms-20ms lost for ever"}},
		{"a node that came back with its data kept it", func(p *reporttest.Tape) {
			p.Command(0, "n0", 1, "1", "SETNX k a")
			p.Event(history.FNodeDown, 20, func(o *history.Op) { o.Node = "n0" })
			p.Event(history.FNodeUp, 40, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Durability: history.Always, Scripts: true} })
		}, []string{"c0 2ms-40ms  for ever"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := reporttest.NewTape(t)
			test.fill(p)
			read := Read(p.Evidence(), "orders")
			events, spans := read.Events, read.Spans
			for _, x := range events {
				if x.Foreign() && !strings.HasPrefix(test.name, "another") && !strings.HasPrefix(test.name, "GETSET") {
					t.Errorf("c%d is said to have touched c%d's key: %s", x.Client, x.Owner, x.Kind)
				}
			}
			var got []string
			for _, s := range spans {
				text := fmt.Sprintf("c%d %v-%v %s", s.Owner, s.From, s.To, s.End)
				if s.Forever {
					text += " for ever"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
