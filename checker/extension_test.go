package checker

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestAnExtensionIsOkOnlyIfNobodyElseWasGrantedTheLockSince(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   string // beginning of the first summary; "" = the oracle holds, "-" = it does not apply
	}{
		{"nobody extends", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok`, "-"},
		{"no extension is ok", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok
			c0 extend 5-6 fail
			c0 extend 7-8 info`, "-"},
		{"in time", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 extend 3-4 ok
			c0 release 5-6 ok
			c1 acquire 7-8 ok`, ""},
		{"late, and nobody was there meanwhile", history.Claims{}, `
			c0 acquire 1-2 ok deadline=5
			c0 extend 20-21 ok deadline=30`, ""},
		{"after another's grant", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok
			c0 extend 5-6 ok`, "c0 was told at 0.006s that its lease of L was extended, although c1 was granted it at 0.004s, after c0 was granted it at 0.002s"},
		{"after another's grant that is over", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok
			c1 release 5-6 ok
			c0 extend 7-8 ok`, "c0 was told at 0.008s"},
		{"the second, after another's grant", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 extend 3-4 ok
			c1 acquire 5-6 ok
			c0 extend 7-8 ok`, "c0 was told at 0.008s that its lease of L was extended, although c1 was granted it at 0.006s, after c0 had extended it at 0.004s"},
		{"another's grant that may have come before", history.Claims{}, `
			c1 acquire 1-4 ok
			c0 acquire 2-3 ok
			c0 extend 5-6 ok`, ""},
		{"another's grant that may have come after", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-6 ok
			c0 extend 5-7 ok`, ""},
		{"another lock", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok lock=M
			c0 extend 5-6 ok`, ""},
		{"an acquire of unknown outcome may have come after the other's", history.Claims{}, `
			c0 acquire 1-2 ok token=c0
			c1 acquire 3-4 ok
			c0 acquire 5-6 info token=c0
			c0 extend 7-8 ok token=c0`, ""},
		{"an acquire of unknown outcome has a token of its own", history.Claims{}, `
			c0 acquire 1-2 info token=a
			c0 acquire 3-4 ok token=b
			c1 acquire 5-6 ok
			c0 extend 7-8 ok token=b`, "c0 was told at 0.008s"},
		{"of what was given back nothing is known", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 release 3-4 ok
			c1 acquire 5-6 ok
			c0 extend 7-8 ok`, ""},
		{"readers are together", history.Claims{ReadWrite: true}, `
			c0 acquire 1-2 ok mode=read
			c1 acquire 3-4 ok mode=read
			c0 extend 5-6 ok mode=read`, ""},
		{"a writer was let in beside a reader", history.Claims{ReadWrite: true}, `
			c0 acquire 1-2 ok mode=read
			c1 acquire 3-4 ok mode=write
			c0 extend 5-6 ok mode=read`, "c0 was told at 0.006s"},
		{"several may hold it", history.Claims{Permits: 2}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok
			c0 extend 5-6 ok`, "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := extension(t.Context(), NewCase(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims}))
			want := Violated
			switch c.want {
			case "":
				want = Held
			case "-":
				want = NotApplicable
			}
			if v.Result != want {
				t.Fatalf("got %s (%s) %v, want %s", v.Result, v.words(), v.Findings, want)
			}
			if want == Violated && !strings.HasPrefix(plain.Summary(v.Findings[0]), c.want) {
				t.Errorf("got %q, want %q", plain.Summary(v.Findings[0]), c.want)
			}
		})
	}
}
