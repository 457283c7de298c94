package keyspace

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// contactLines lists which command met which grants, one contact per line.
func contactLines(e history.Evidence) (lines []string) {
	for _, m := range Read(e).Contacts {
		var on []string
		for _, g := range m.On {
			on = append(on, fmt.Sprintf("%s's %s", whose(g), g.Key))
		}
		lines = append(lines, fmt.Sprintf("c%d @%s met %v", e.Commands[m.Cmd].Client, moment(m.At), on))
	}
	return lines
}

// A contact with the current grant is recorded whether or not the command names the key.
func TestContacts(t *testing.T) {
	const take = `EVAL return(redis.call('SET','lock:'..ARGV[1],ARGV[2],'NX')) 0 `
	for _, c := range []struct {
		name, tale string
		want       []string
	}{
		{"with what a command names", `
			10 c0+ SET lock a NX
			20 c1? SET lock b NX
			30 c1 PING`,
			[]string{"c1 @20–20.1 met [c0's lock]"}},
		{"with what a script names by itself, and finds as it is", `
			10 c0+ ` + take + `a t0
			20 c1? ` + take + `a t1
			30 c2 PING`,
			[]string{"c1 @20–20.1 met [c0's lock:a]"}},
		{"with what a script changes that it names by itself", `
			10 c0+ SET lock:a t0
			20 c1+ EVAL return(redis.call('SET','lock:'..ARGV[1],ARGV[2])) 0 a t1`,
			[]string{"c1 @20 met [c0's lock:a]"}},
		{"with a key in the last millisecond of its life", `
			10 c0+ SET lock a NX PX 1000
			1010.6 c1? SET lock b NX PX 1000
			1011.6 c1+ SET lock b NX PX 1000`,
			[]string{"c1 @1010.6–1010.7 met [c0's lock]"}},
		{"with none of another script", `
			10 c0+ ` + take + `a t0
			20 c1? EVAL return(ARGV[1]) 0 a`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := contactLines(enact(t, c.tale)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// An acquire that succeeds without a change gets grants on the keys whose names its script
// builds.
func TestGrantsThatRestOnWhatNoCommandNames(t *testing.T) {
	tales(t, []tale{{"set again to what it is", `
		10 c0+ EVAL return(redis.call('SET','lock:'..ARGV[1],1)) 0 a
		20 c1+ EVAL return(redis.call('SET','lock:'..ARGV[1],1)) 0 a`, `
		c0 n0:lock:a=1 @10 to ∞; under c1's of @20–20.1
		c1 n0:lock:a=1 @20–20.1 rested to ∞`}})
}
