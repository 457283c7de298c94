package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

func TestKeyLifeFollowsCommands(t *testing.T) {
	tests := []struct {
		name string
		fill func(*tape)
		want []string
	}{
		{"SET XX that was refused does nothing", func(p *tape) {
			p.command(0, "n0", 1, "nil", "SET k a PX 100 XX")
		}, nil},
		{"SET NX PX expires when its life ends", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.command(1, "n0", 300, "0", "EXISTS k")
		}, []string{"c0 2ms-102ms expired"}},
		{"EXPIRE counts whole seconds from itself", func(p *tape) {
			p.command(0, "n0", 1, "1", "SETNX k a")
			p.command(0, "n0", 11, "1", "EXPIRE k 1")
			p.command(1, "n0", 2000, "0", "EXISTS k")
		}, []string{"c0 2ms-1.012s expired"}},
		{"SETNX alone lives for ever", func(p *tape) {
			p.command(0, "n0", 1, "1", "SETNX k a")
			p.command(1, "n0", 2000, "0", "SETNX k b")
		}, []string{"c0 2ms-2.0018s  for ever"}},
		{"another client's DEL ends it", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.command(1, "n0", 5, "1", "DEL k")
		}, []string{"c0 2ms-6ms deleted"}},
		{"GETSET hands it over and drops its life", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.command(1, "n0", 5, `"a"`, "GETSET k b")
		}, []string{"c0 2ms-6ms set for ever", "c1 6ms-6.8ms  for ever"}},
		{"a script that was granted found the key free", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.command(1, "n0", 200.9, "OK", "EVAL return(redis.call('SET',KEYS[1],ARGV[1],'NX')) 1 k b")
		}, []string{"c0 2ms-102ms expired", "c1 201.9ms-202.7ms  for ever"}},
		{"a script does what is seen of it", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.command(0, "n0", 5, "0", "EVALSHA "+p.script("compare-and-delete")+" 1 k b")
			p.command(0, "n0", 9, "1", "EVALSHA "+p.script("compare-and-delete")+" 1 k a")
		}, []string{"c0 2ms-10ms deleted"}},
		{"a command that was not seen to run does nothing", func(p *tape) {
			p.command(0, "n0", 1, "", "SET k a PX 1000 NX").Served = 0
		}, nil},
		{"a command that its node refused does nothing", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.command(1, "n0", 5, "WRONGTYPE Operation against a key holding the wrong kind of value", "HDEL k a")
		}, []string{"c0 2ms-6.8ms "}},
		{"nodes have keys of their own", func(p *tape) {
			p.command(0, "n0", 1, "1", "SETNX k a")
			p.command(1, "n1", 2, "1", "SETNX k a")
		}, []string{"c0 2ms-3.8ms  for ever", "c1 3ms-3.8ms  for ever"}},
		{"a node that came back without its data lost it when it went", func(p *tape) {
			p.command(0, "n0", 1, "1", "SETNX k a")
			p.event(history.FNodeDown, 20, func(o *history.Op) { o.Node = "n0" })
			p.event(history.FNodeUp, 40, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Keys: true} })
		}, []string{"c0 2ms-20ms lost for ever"}},
		{"a node that came back with its data kept it", func(p *tape) {
			p.command(0, "n0", 1, "1", "SETNX k a")
			p.event(history.FNodeDown, 20, func(o *history.Op) { o.Node = "n0" })
			p.event(history.FNodeUp, 40, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Durability: history.Always, Scripts: true} })
		}, []string{"c0 2ms-40ms  for ever"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTape(t)
			test.fill(p)
			events, spans := keyLife(p.evidence(), keyspace.Read(p.evidence()))
			for _, x := range events {
				if x.foreign() && !strings.HasPrefix(test.name, "another") && !strings.HasPrefix(test.name, "GETSET") {
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

func TestKeyLifeKnowsWhoLeftAHash(t *testing.T) {
	const leave = "EVAL return(redis.call('HDEL',KEYS[1],ARGV[1])) 1 k "
	const clear = "EVAL return(redis.call('DEL',KEYS[1])) 1 k"
	enter := func(p *tape, client int, at float64) {
		p.command(client, "n0", at, "1", fmt.Sprintf("HSET k c%d 1", client))
	}
	tests := []struct {
		name string
		fill func(*tape)
		want []string
	}{
		{"the last to enter leaves: the key is the other's", func(p *tape) {
			p.command(0, "n0", 30, "1", leave+"c0")
			p.command(2, "n0", 40, "1", leave+"c2")
		}, nil},
		{"the first to enter leaves", func(p *tape) {
			p.command(2, "n0", 30, "1", leave+"c2")
			p.command(0, "n0", 40, "1", leave+"c0")
		}, nil},
		{"who left took the other's too", func(p *tape) {
			p.command(0, "n0", 30, "1", clear)
			p.command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c0's script removed the key that was c2's, on n0 at 0.031 s"}},
		{"who left had been the first to enter", func(p *tape) {
			p.command(2, "n0", 30, "1", clear)
			p.command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c2's script removed the key that was c0's, on n0 at 0.031 s"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTapeOf(t, "rw-hash")
			enter(p, 2, 10)
			enter(p, 0, 20)
			test.fill(p)
			e := p.evidence()
			events, _ := keyLife(e, keyspace.Read(e))
			teller := newTeller(focus{subject: subject{Evidence: e}, reading: read(e, "")})
			var got []string
			for _, x := range events {
				if text := teller.keyWords(x); text != "" {
					got = append(got, strings.ReplaceAll(text, "{where}", fmt.Sprintf("on %s at %s", x.Node, instant(x.At))))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLengthsAreWrittenAsPeopleReadThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 20: "20 ns", 300 * time.Microsecond: "0.3 ms", 92 * time.Millisecond: "92 ms",
		100600 * time.Microsecond: "100.6 ms", 100 * time.Millisecond: "100 ms", time.Second: "1 s",
		1105 * time.Millisecond: "1.105 s", 100 * time.Second: "100 s", -5 * time.Second: "-5 s",
	} {
		if got := length(d); got != want {
			t.Errorf("length(%v) is %q, want %q", d, got, want)
		}
	}
}

func TestReadingUnderAReadWriteLockIsSaidOnce(t *testing.T) {
	for op, want := range map[string]history.Op{
		"begins to acquire to read": {F: history.FAcquire, Type: history.Invoke, Mode: "read"},
		"begins to read":            {F: history.FRead, Type: history.Invoke, Mode: "read"},
		"write: done":               {F: history.FWrite, Type: history.OK, Mode: "write"},
	} {
		if got := opWords(want); got != op {
			t.Errorf("got %q, want %q", got, op)
		}
	}
}
