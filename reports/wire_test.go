package reports

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func TestKeyLifeFollowsCommands(t *testing.T) {
	const source = "return redis.call('DEL', KEYS[1])"
	sum := sha1.Sum([]byte(source))
	script := history.Script{Name: "free", SHA1: hex.EncodeToString(sum[:]), Effects: map[string][]history.Effect{"1": {{Kind: history.EffectDelete}}, "2": {{Kind: history.EffectSet}}}}
	tests := []struct {
		name string
		fill func(*tape)
		want []string
	}{
		{"SET NX PX that was refused does nothing", func(p *tape) {
			p.command(0, "n0", 1, "nil", "SET k a PX 100 NX")
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
		}, []string{"c0 2ms-6ms set", "c1 6ms-6.8ms  for ever"}},
		{"a grant on a free key proves that the other's had expired", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.command(1, "n0", 100.9, "OK", "SET k b PX 100 NX") // served 0.1 ms before the latest end
		}, []string{"c0 2ms-101.6ms expired", "c1 101.9ms-102.7ms "}},
		{"a grant long before the end proves that the key was gone", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.command(1, "n0", 20, "1", "SETNX k b")
		}, []string{"c0 2ms-20.6ms gone", "c1 21ms-21.8ms  for ever"}},
		{"a release that answered after the grant made way for it", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.command(0, "n0", 20, "1", "DEL k").Served = ms(23)
			p.command(1, "n0", 21, "OK", "SET k b PX 100 NX")
		}, []string{"c0 2ms-21.6ms deleted", "c1 22ms-23ms "}},
		{"a script that was granted found the key free", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 100 NX")
			p.command(1, "n0", 100.9, "2", "EVALSHA "+script.SHA1+" 1 k")
		}, []string{"c0 2ms-101.6ms expired", "c1 101.9ms-102.7ms  for ever"}},
		{"a script does what it declares for its reply", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.command(0, "n0", 5, "0", "EVALSHA "+script.SHA1+" 1 k")
			p.command(0, "n0", 9, "1", "EVALSHA "+script.SHA1+" 1 k")
		}, []string{"c0 2ms-10ms deleted"}},
		{"a command that was not seen to run does nothing", func(p *tape) {
			p.command(0, "n0", 1, "", "SET k a PX 1000 NX").Served = 0
		}, nil},
		{"a command that its node refused does nothing", func(p *tape) {
			p.command(0, "n0", 1, "OK", "SET k a PX 1000 NX")
			p.command(1, "n0", 5, "READONLY You can't write against a read only replica.", "DEL k")
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
			p := newTape()
			p.claims.Scripts = []history.Script{script}
			test.fill(p)
			events, spans := keyLife(p.evidence())
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
	script := func(name string, effects ...history.Effect) history.Script {
		sum := sha1.Sum([]byte(name))
		return history.Script{Name: name, SHA1: hex.EncodeToString(sum[:]), Effects: map[string][]history.Effect{"1": effects}}
	}
	enter := script("enter", history.Effect{Kind: history.EffectSet, Field: true})
	leave := script("leave", history.Effect{Kind: history.EffectDelete, Field: true})
	call := func(p *tape, client int, at float64, s history.Script) {
		p.command(client, "n0", at, "1", "EVALSHA "+s.SHA1+" 1 k")
	}
	tests := []struct {
		name string
		fill func(*tape)
		want []string
	}{
		{"the last to enter leaves: the key is the other's", func(p *tape) {
			call(p, 2, 10, enter)
			call(p, 0, 20, enter)
			call(p, 0, 30, leave)
			call(p, 2, 40, leave)
		}, nil},
		{"the first to enter leaves", func(p *tape) {
			call(p, 2, 10, enter)
			call(p, 0, 20, enter)
			call(p, 2, 30, leave)
			call(p, 0, 40, leave)
		}, nil},
		{"who left took the other's too: the next found it free", func(p *tape) {
			call(p, 2, 10, enter)
			call(p, 0, 20, enter)
			call(p, 0, 30, leave)
			p.command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c0's script leave removed the key that was c2's, on n0 at 0.031 s"}},
		{"who left may have been the first to enter", func(p *tape) {
			call(p, 2, 10, enter)
			call(p, 0, 20, enter)
			call(p, 2, 30, leave)
			p.command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c2's script leave removed the key that was c0's, on n0 at 0.031 s"}},
		{"a node that was disturbed may have lost it", func(p *tape) {
			call(p, 2, 10, enter)
			call(p, 0, 20, enter)
			call(p, 0, 30, leave)
			p.event(history.FPromote, 40, func(o *history.Op) { o.Node = "n0" })
			p.command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c2's key was not there any more on n0 at 0.0506 s"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTape()
			p.claims.Scripts, p.claims.ReadWrite = []history.Script{enter, leave}, true
			test.fill(p)
			e := p.evidence()
			events, _ := keyLife(e)
			teller := newTeller(e, focus{reading: read(e, "")})
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

func TestLengthsInTextsAreRounded(t *testing.T) {
	for text, want := range map[string]string{
		"not scheduled for 41.234567ms, more than": "not scheduled for 41.2 ms, more than",
		"after 1.2000004s (c12, n0, 5 trials)":     "after 1.2 s (c12, n0, 5 trials)",
		"at 2m3.5s":                                "at 123.500 s",
		"from 1.2 s to 300 ms":                     "from 1.2 s to 300 ms",
	} {
		if got := rounded(text); got != want {
			t.Errorf("got %q, want %q", got, want)
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
