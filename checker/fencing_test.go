package checker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

func TestFencingHoldsLaterGrantsToGreaterFences(t *testing.T) {
	once := history.Claims{Fenced: true}
	again := history.Claims{Fenced: true, Reentrant: true}
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   string // a part of the first summary; "" = the oracle holds
	}{
		{"each greater than the last", once, `
			c0 acquire 1-2 ok fence=1
			c1 acquire 3-4 ok fence=2
			c0 acquire 5-6 ok fence=9`, ""},
		{"a smaller one after a greater", once, `
			c0 acquire 1-2 ok fence=7
			c1 acquire 3-4 ok fence=3`, "c1 was granted L at 0.004s with fence 3, though c0 had been granted it at 0.002s with fence 7"},
		{"not only the last one counts", once, `
			c0 acquire 1-2 ok fence=7
			c1 acquire 1-5 ok fence=3
			c2 acquire 6-7 ok fence=5`, "c2 was granted L at 0.007s with fence 5, though c0"},
		{"a smaller one of a grant that was under way", once, `
			c0 acquire 1-4 ok fence=7
			c1 acquire 3-5 ok fence=3`, ""},
		{"the same one for two owners, though both were under way", once, `
			c0 acquire 1-4 ok fence=7
			c1 acquire 3-5 ok fence=7`, "c1 was granted L at 0.005s with fence 7, though c0"},
		{"the same one again for one owner", once, `
			c0 acquire 1-2 ok fence=7
			c0 acquire 3-5 ok fence=7`, "c0 was granted L at 0.005s with fence 7, though c0"},
		{"the same one again for the owner of a reentrant lock", again, `
			c0 acquire 1-2 ok fence=7
			c0 acquire 3-5 ok fence=7`, ""},
		{"the same one again after somebody else got a greater", again, `
			c0 acquire 1-2 ok fence=7
			c1 acquire 3-4 ok fence=8
			c0 acquire 5-6 ok fence=7`, "c0 was granted L at 0.006s with fence 7, though c1"},
		{"somebody else's in a reentrant lock", again, `
			c0 acquire 1-2 ok fence=7
			c1 acquire 3-4 ok fence=7`, "c1 was granted L"},
		{"none", once, `
			c0 acquire 1-2 ok`, "with fence 0, which is no fence"},
		{"other locks count for themselves", once, `
			c0 acquire 1-2 ok fence=7 lock=A
			c1 acquire 3-4 ok fence=3 lock=B`, ""},
		{"failed and unknown acquires have none", once, `
			c0 acquire 1-2 ok fence=7
			c1 acquire 3-4 info fence=3
			c2 acquire 5-6 fail fence=2`, ""},
		{"a lock that gives none, twice", once, `
			c0 acquire 1-2 ok fence=1
			c1 acquire 3-4 ok fence=0`, "c1 was granted L at 0.004s with fence 0, which is no fence"},
		{"the resource accepts an older one", once, `
			c0 acquire 1-2 ok fence=1
			c1 acquire 3-4 ok fence=2
			c1 write 5-5 ok fence=2 seq=1 value=1
			c0 write 6-7 ok fence=1 seq=2 value=2`, "L accepted c0's write under fence 1 at 0.007s, though it had seen fence 2, with c1's write at 0.005s"},
		{"the resource's own order counts", once, `
			c0 acquire 1-2 ok fence=1
			c1 acquire 3-4 ok fence=2
			c1 write 5-5 ok fence=2 seq=2 value=1
			c0 write 4-7 ok fence=1 seq=1 value=2`, ""},
		{"the resource refuses an older one", once, `
			c0 acquire 1-2 ok fence=1
			c1 acquire 3-4 ok fence=2
			c1 write 5-5 ok fence=2 seq=1 value=1
			c0 write 6-7 fail fence=1 reason=stale`, ""},
	} {
		v, err := fencing(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims}))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		switch {
		case c.want == "" && v.Result != Held:
			t.Errorf("%s: got %+v, want that it holds", c.name, v)
		case c.want != "" && (v.Result != Violated || v.Findings[0].Cause != FenceRegressed || !strings.Contains(plain.Summary(v.Findings[0]), c.want)):
			t.Errorf("%s: got %+v, want %q", c.name, v, c.want)
		}
	}
}

func TestFencingIsForThoseWhoClaimIt(t *testing.T) {
	for text, claims := range map[string]history.Claims{
		"c0 acquire 1-2 ok":   {},
		"c0 acquire 1-2 fail": {Fenced: true},
	} {
		v, err := fencing(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, text), Claims: claims}))
		if err != nil || v.Result != NotApplicable || v.words() == "" {
			t.Errorf("%s: got %+v, %v", text, v, err)
		}
	}
}

// Sweep and porcupine both decide fencing. If one of them misses a fence that goes back, they
// disagree.
func TestAMistakeInEitherSideOfFencingIsADisagreement(t *testing.T) {
	e := history.Evidence{Claims: history.Claims{Fenced: true}, Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok fence=7
		c1 acquire 3-4 ok fence=3`)}
	blind := func(history.Claims, fences) []regress { return nil }
	lenient := func(context.Context, history.Claims, fences) map[string]linear.Answer {
		return map[string]linear.Answer{"L": linear.Legal}
	}
	for name, ask := range map[string]func() (Verdict, error){
		"sweep": func() (Verdict, error) {
			return fencingBy(context.Background(), NewCase(e), blind, linearizeFences)
		},
		"porcupine": func() (Verdict, error) { return fencingBy(context.Background(), NewCase(e), sweepFences, lenient) },
	} {
		if v, err := ask(); !errors.Is(err, ErrDisagree) || v.Result != Unknown {
			t.Errorf("a wrong %s: got %+v, %v", name, v, err)
		}
	}
}

func TestHundredsWhoWaitTogetherForTheirFencesAreDecided(t *testing.T) {
	for _, c := range []struct {
		name, more string
		want       Result
	}{
		{"in order", "", Held},
		{"and one who is late", "c999 acquire 9000-9001 ok fence=5000\nc998 acquire 9002-9003 ok fence=4000", Violated},
	} {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "c%d acquire 1-%d ok fence=%d\n", i, 10+i, 1+(i*7)%300)
		}
		e := history.Evidence{Claims: history.Claims{Fenced: true}, Ops: histories.Timeline(t, b.String()+c.more)}
		if v, err := fencing(context.Background(), NewCase(e)); err != nil || v.Result != c.want {
			t.Errorf("%s: got %s (%s), %v; want %s", c.name, v.Result, v.words(), err, c.want)
		}
	}
}

// A write that the resource refused changed nothing: it overwrites no other write, and no
// other write overwrites it.
func TestARefusedWriteIsNoOperationOfTheResource(t *testing.T) {
	const begin = `
		c0 acquire 1-2 ok fence=1
		c0 read 3-3 ok fence=1 seq=1 value=0
		c1 acquire 10-11 ok fence=2
		c1 read 12-12 ok fence=2 seq=2 value=0
		c1 write 14-14 ok fence=2 seq=4 value=1
		`
	for end, want := range map[string]Result{
		"c0 write 13-13 fail fence=1 reason=stale seq=3": Held,
		"c0 write 13-13 ok fence=1 seq=3 value=1":        Violated,
	} {
		e := history.Evidence{Claims: history.Claims{Fenced: true}, Ops: histories.Timeline(t, begin+end)}
		if v := resource(context.Background(), NewCase(e)); v.Result != want {
			t.Errorf("%s: got %+v, want %s", end, v, want)
		}
	}
}

// A client sends its SET again because the reply is late. The first copy runs long after the
// acquire completed and the lock was released. It grants nothing to that acquire, although it has
// the acquire's token.
func TestACommandThatRunsAfterItsReplyIsNoGrant(t *testing.T) {
	tales(t, []tale{{"sent twice", "fenced", func(s *story) {
		token := "t0"
		s.invoke(9, 0, history.FAcquire)
		first := *s.cmd(20, 0, "OK", setPX(token)...)
		s.done(30, 0, history.OK, history.Lease{Token: token, Fence: 1})
		s.give(40, 0, "1", s.cad(token)...)
		s.invoke(50, 0, history.FAcquire)
		s.cmd(51, 0, "OK", setPX("t1")...)
		s.done(52, 0, history.OK, history.Lease{Token: "t1", Fence: 2})
		s.give(60, 0, "1", s.cad("t1")...)
		again := s.late(10, 100, 0, "OK", setPX(token)...)
		again.Op = first.Op
	}, nil}})
}

// c1 is granted the lock while c0 still waits for the reply to its own grant. Without the nodes' keys,
// nobody can tell which of the two grants came first.
func TestGrantsOfUnknownOrderAreExplained(t *testing.T) {
	s := tell(t, "fenced")
	s.unwatched = true
	s.invoke(9, 0, history.FAcquire)
	s.cmd(10, 0, "1", s.script("set-and-count", []string{"lock", "fence"}, "t0", "5")...).Replied = ms(30)
	s.invoke(19, 1, history.FAcquire)
	s.cmd(20, 1, "2", s.script("set-and-count", []string{"lock", "fence"}, "t1", "1000")...)
	s.done(25, 1, history.OK, history.Lease{Token: "t1", Fence: 2})
	s.done(31, 0, history.OK, history.Lease{Token: "t0", Fence: 1})
	v := OracleNamed("fencing").Judge(t.Context(), s.evidence())
	const want = "the time of c0's grant of lock with fence 1 was not observed, so c1's grant may be earlier or later"
	if v.Result != Unknown || v.Why != want {
		t.Errorf("got %s (%s), want unknown (%s)", v.Result, v.Why, want)
	}
	if len(v.Reasons) != 1 || v.Reasons[0].What != account.GrantTimeUnseen {
		t.Errorf("got the reasons %+v", v.Reasons)
	}
}
