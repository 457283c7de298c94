package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

func TestKeyLifeKnowsWhoLeftAHash(t *testing.T) {
	const leave = "EVAL return(redis.call('HDEL',KEYS[1],ARGV[1])) 1 k "
	const clear = "EVAL return(redis.call('DEL',KEYS[1])) 1 k"
	enter := func(p *reporttest.Tape, client int, at float64) {
		p.Command(client, "n0", at, "1", fmt.Sprintf("HSET k c%d 1", client))
	}
	tests := []struct {
		name string
		fill func(*reporttest.Tape)
		want []string
	}{
		{"the last to enter leaves: the key is the other's", func(p *reporttest.Tape) {
			p.Command(0, "n0", 30, "1", leave+"c0")
			p.Command(2, "n0", 40, "1", leave+"c2")
		}, nil},
		{"the first to enter leaves", func(p *reporttest.Tape) {
			p.Command(2, "n0", 30, "1", leave+"c2")
			p.Command(0, "n0", 40, "1", leave+"c0")
		}, nil},
		{"who left took the other's too", func(p *reporttest.Tape) {
			p.Command(0, "n0", 30, "1", clear)
			p.Command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c0's script removed the key that was c2's, on n0 at 0.031 s"}},
		{"who left had been the first to enter", func(p *reporttest.Tape) {
			p.Command(2, "n0", 30, "1", clear)
			p.Command(1, "n0", 50, "1", "SETNX k a")
		}, []string{"c2's script removed the key that was c0's, on n0 at 0.031 s"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := reporttest.NewTapeOf(t, "rw-hash")
			enter(p, 2, 10)
			enter(p, 0, 20)
			test.fill(p)
			e := p.Evidence()
			teller := newTeller(Focus{Trial: Trial{Evidence: e}, Reading: facts.Read(e, "")})
			var got []string
			for _, x := range teller.Events {
				if text := teller.keyWords(x); text != "" {
					got = append(got, strings.ReplaceAll(text, "{where}", fmt.Sprintf("on %s at %s", x.Node, wording.Instant(x.At))))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
