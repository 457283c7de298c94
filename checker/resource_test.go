package checker

import (
	"context"
	"testing"

	"github.com/lockstorm/lockstorm/checker/internal/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestResourceIsViolatedByWhatComesBetween(t *testing.T) {
	rw := history.Claims{ReadWrite: true}
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   []string
	}{
		{"one section after another", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c0 write 4-4 ok seq=2 value=1
			c0 release 5-6 ok
			c1 acquire 5-7 ok
			c1 read 8-8 ok seq=3 value=1
			c1 write 9-9 ok seq=4 value=2
			c1 release 10-11 ok`, nil},
		{"a lost update", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c1 acquire 4-5 ok
			c1 read 6-6 ok seq=2 value=0
			c1 write 7-7 ok seq=3 value=1
			c1 release 8-9 ok
			c0 write 10-10 ok seq=4 value=1
			c0 release 11-12 ok`,
			[]string{"c1's write of L at 0.007s was lost: c0 had read at 0.003s and overwrote it at 0.010s"}},
		{"both lost to each other", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c1 read 4-4 ok seq=2 value=0
			c0 write 5-5 ok seq=3 value=1
			c1 write 6-6 ok seq=4 value=1`,
			[]string{
				"c1 read L at 0.004s, between c0's read at 0.003s and its write at 0.005s in one critical section",
				"c0's write of L at 0.005s was lost: c1 had read at 0.004s and overwrote it at 0.006s",
			}},
		{"after the holder's deadline all the same", history.Claims{}, `
			c0 acquire 1-2 ok deadline=5
			c0 read 3-3 ok seq=1 value=0
			c1 acquire 6-7 ok
			c1 write 8-8 ok seq=2 value=5
			c0 write 10-10 ok seq=3 value=1`,
			[]string{"c1's write of L at 0.008s was lost: c0 had read at 0.003s and overwrote it at 0.010s"}},
		{"a careful client that stopped did no harm", history.Claims{}, `
			c0 acquire 1-2 ok deadline=5
			c0 read 3-3 ok seq=1 value=0
			c1 acquire 6-7 ok
			c1 read 8-8 ok seq=2 value=0
			c1 write 9-9 ok seq=3 value=1
			c0 lost 10
			c0 release 10-11 ok`, nil},
		{"two sections of one client are two", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c0 release 4-5 ok
			c1 acquire 5-6 ok
			c1 write 7-7 ok seq=2 value=5
			c1 release 8-9 ok
			c0 acquire 9-10 ok
			c0 write 11-11 ok seq=3 value=6`, nil},
		{"an acquire after an unreleased one begins anew", history.Claims{}, `
			c0 acquire 1-2 ok deadline=4
			c0 read 3-3 ok seq=1 value=0
			c1 acquire 5-6 ok
			c1 write 7-7 ok seq=2 value=5
			c1 release 8-9 ok
			c0 acquire 9-10 ok
			c0 write 11-11 ok seq=3 value=6`, nil},
		{"nested acquires are one section", history.Claims{Reentrant: true}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c0 acquire 4-5 ok
			c0 release 5-6 ok
			c1 acquire 6-7 ok
			c1 read 7-7 ok seq=2 value=0
			c0 write 8-8 ok seq=3 value=1
			c0 release 9-10 ok`,
			[]string{"c1 read L at 0.007s, between c0's read at 0.003s and its write at 0.008s in one critical section"}},
		{"readers between readers", rw, `
			c0 acquire 1-2 ok mode=read
			c1 acquire 1-2 ok mode=read
			c0 read 3-3 ok mode=read seq=1 value=0,0
			c1 read 4-4 ok mode=read seq=2 value=0,0
			c0 read 5-5 ok mode=read seq=3 value=0,0
			c1 read 6-6 ok mode=read seq=4 value=0,0`, nil},
		{"a reader between a writer's halves", rw, `
			c0 acquire 1-2 ok mode=write
			c0 write 3-3 ok mode=write seq=1 value=1,0
			c1 acquire 3-4 ok mode=read
			c1 read 5-5 ok mode=read seq=2 value=1,0
			c0 write 6-6 ok mode=write seq=3 value=1,1`,
			[]string{"c1 read L at 0.005s, between c0's write at 0.003s and its write at 0.006s in one critical section"}},
		{"unequal values while their writer is still inside", rw, `
			c0 acquire 1-2 ok mode=write
			c0 write 3-3 ok mode=write seq=1 value=1,0
			c1 acquire 3-4 ok mode=read
			c1 read 5-5 ok mode=read seq=2 value=1,0
			nemesis crash c0 6`,
			[]string{"c1 read 1 and 0 of L at 0.005s, which must be equal, while c0 was still writing them (since 0.003s)"}},
		{"unequal values that a crash left behind", rw, `
			c0 acquire 1-2 ok mode=write
			c0 write 3-3 ok mode=write seq=1 value=1,0
			nemesis crash c0 4
			c1 acquire 30-31 ok mode=read
			c1 read 32-32 ok mode=read seq=2 value=1,0`, nil},
		{"unequal values of a writer that stopped when its lease was lost", rw, `
			c0 acquire 1-2 ok mode=write deadline=5
			c0 write 3-3 ok mode=write seq=1 value=1,0
			c0 lost 6 mode=write
			c0 release 6-7 ok mode=write
			c1 acquire 7-8 ok mode=read
			c1 read 9-9 ok mode=read seq=2 value=1,0`, nil},
		{"a write whose outcome nobody saw has no place in the order", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c1 write 4-5 info seq=2 value=9
			c0 write 6-6 ok seq=3 value=1`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkVerdict(t, resource(context.Background(), newCaseFile(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims})), c.want)
		})
	}
}

func TestResourceDoesNotApplyWhereNothingWasTouched(t *testing.T) {
	v := resource(context.Background(), newCaseFile(history.Evidence{Ops: histories.Timeline(t, "c0 acquire 1-2 ok\nc1 acquire 1-2 ok")}))
	if v.Result != NotApplicable {
		t.Errorf("got %s, want %s", v.Result, NotApplicable)
	}
}
