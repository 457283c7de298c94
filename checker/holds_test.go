package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// holdText writes a hold as "c0 L 2-9 release", in milliseconds.
func holdText(h Hold) string {
	to := "never"
	if h.To != Never {
		to = fmt.Sprint(h.To.Milliseconds())
	}
	return strings.TrimSpace(fmt.Sprintf("c%d %s%s %d-%s %s", h.Client, h.Lock, h.Mode, h.From.Milliseconds(), to, h.ToWhy))
}

func TestHoldsAreWhatClientsBelieved(t *testing.T) {
	rw := history.Claims{ReadWrite: true}
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   []string
	}{
		{"from ok to the release's invocation, whatever its outcome", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 release 5-9 info
			c1 acquire 10-11 ok
			c1 release 12-13 fail reason=not-held`,
			[]string{"c0 L 2-5 release", "c1 L 11-12 release"}},
		{"never ended", history.Claims{}, `
			c0 acquire 1-2 ok`,
			[]string{"c0 L 2-never never"}},
		{"a release that never completed ends it", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 release 7-`,
			[]string{"c0 L 2-7 release"}},
		{"busy, refused and open acquires give none", history.Claims{}, `
			c0 acquire 1-2 fail reason=busy
			c1 acquire 1-`,
			nil},
		{"nested acquires need as many releases", history.Claims{Reentrant: true}, `
			c0 acquire 1-2 ok
			c0 acquire 3-4 ok
			c0 release 5-6 ok
			c0 release 7-8 ok`,
			[]string{"c0 L 2-7 release"}},
		{"an info acquire is dropped with its release", history.Claims{}, `
			c0 acquire 1-2 info token=a
			c0 release 3-4 ok token=a
			c0 acquire 5-6 ok token=b
			c0 release 7-8 ok token=b`,
			[]string{"c0 L 6-7 release"}},
		{"a late release of an info acquire, known by its token, ends nothing", history.Claims{}, `
			c0 acquire 1-2 info token=a
			c0 acquire 3-4 ok token=b
			c0 release 5-6 ok token=a
			c0 release 9-10 ok token=b`,
			[]string{"c0 L 4-9 release"}},
		{"an info acquire of the owner's own token does not count among nested ones", history.Claims{Reentrant: true}, `
			c0 acquire 1-2 ok token=o
			c0 acquire 3-4 info token=o
			c0 release 5-6 ok token=o`,
			[]string{"c0 L 2-5 release"}},
		{"a release without a mode ends the hold that is open", rw, `
			c0 acquire 1-2 ok mode=read
			c0 release 3-4 ok
			c1 acquire 5-6 ok mode=write
			c1 release 7-8 ok`,
			[]string{"c0 Lread 2-3 release", "c1 Lwrite 6-7 release"}},
		{"a release without a mode ends the latest of two", rw, `
			c0 acquire 1-2 ok mode=write
			c0 acquire 3-4 ok mode=read
			c0 release 5-6 ok
			c0 release 7-8 ok`,
			[]string{"c0 Lwrite 2-7 release", "c0 Lread 4-5 release"}},
		{"a release without a mode belongs to its token", rw, `
			c0 acquire 1-2 ok mode=write token=a
			c0 acquire 3-4 ok mode=read token=b
			c0 release 5-6 ok token=a
			c0 release 7-8 ok token=b`,
			[]string{"c0 Lwrite 2-5 release", "c0 Lread 4-7 release"}},
		{"an acquire without a mode is released as a write", rw, `
			c0 acquire 1-2 ok
			c0 release 5-6 ok mode=write`,
			[]string{"c0 L 2-5 release"}},
		{"the deadline ends it first", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 release 12-13 ok`,
			[]string{"c0 L 2-8 deadline"}},
		{"the release ends it before the deadline", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 release 5-6 ok`,
			[]string{"c0 L 2-5 release"}},
		{"a deadline that passed before the ok gives no hold", history.Claims{}, `
			c0 acquire 1-9 ok deadline=8
			c0 release 12-13 ok
			c0 acquire 14-15 ok
			c0 release 16-17 ok`,
			[]string{"c0 L 15-16 release"}},
		{"a clock that is ahead shows the deadline earlier", history.Claims{}, `
			nemesis clock c0 0 offset=3
			c0 acquire 1-2 ok deadline=10
			c0 release 12-13 ok`,
			[]string{"c0 L 2-7 deadline"}},
		{"a clock that is behind shows it later, another client's clock is its own", history.Claims{}, `
			nemesis clock c0 0 offset=-3
			nemesis clock c1 0 offset=5
			c0 acquire 1-2 ok deadline=10
			c0 release 20-21 ok`,
			[]string{"c0 L 2-13 deadline"}},
		{"a clock that jumps over the deadline ends it at the jump", history.Claims{}, `
			c0 acquire 1-2 ok deadline=10
			nemesis clock c0 6 offset=60
			nemesis clock c0 8 offset=0
			c0 release 9-10 ok`,
			[]string{"c0 L 2-6 deadline"}},
		{"a clock that showed the deadline before the acquire began says nothing", history.Claims{}, `
			nemesis clock c0 0 offset=60
			nemesis clock c0 1 offset=0
			c0 acquire 2-3 ok deadline=10
			c0 release 20-21 ok`,
			[]string{"c0 L 3-10 deadline"}},
		{"a clock set back under the acquire had shown the deadline before the ok", history.Claims{}, `
			nemesis clock c0 0 offset=20
			c0 acquire 1-5 ok deadline=22
			nemesis clock c0 3 offset=0`,
			nil},
		{"an extension moves the deadline if it came in time, and begins anew if it did not", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 extend 5-6 ok deadline=14
			c0 extend 15-16 ok deadline=30
			c0 release 20-21 ok`,
			[]string{"c0 L 2-14 deadline", "c0 L 16-20 release"}},
		{"an extension begins nothing anew if its own deadline has passed, or it failed", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 extend 9-12 ok deadline=11
			c0 extend 13-14 fail deadline=30
			c0 release 20-21 ok`,
			[]string{"c0 L 2-8 deadline"}},
		{"who was told of the loss does not believe anew", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 lost 9
			c0 extend 10-11 ok deadline=30
			c0 release 20-21 ok`,
			[]string{"c0 L 2-8 deadline"}},
		{"what was given back is not extended", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 release 9-10 ok
			c0 extend 11-12 ok deadline=30`,
			[]string{"c0 L 2-8 deadline"}},
		{"a failed extension moves nothing", history.Claims{}, `
			c0 acquire 1-2 ok deadline=8
			c0 extend 5-6 info deadline=14`,
			[]string{"c0 L 2-8 deadline"}},
		{"being told ends it, and the release that follows ends nothing else", history.Claims{}, `
			c0 acquire 1-2 ok token=a
			c0 lost 5
			c0 release 6-7 fail token=a reason=not-held
			c0 acquire 8-9 ok token=b
			c0 release 10-11 ok token=b`,
			[]string{"c0 L 2-5 lost", "c0 L 9-10 release"}},
		{"acquired anew after a loss, released once", history.Claims{Reentrant: true}, `
			c0 acquire 1-2 ok
			c0 lost 5
			c0 acquire 6-7 ok
			c0 release 8-9 ok
			c0 release 10-11 ok`,
			[]string{"c0 L 2-5 lost", "c0 L 7-8 release"}},
		{"a crash ends all that its client holds", history.Claims{}, `
			c0 acquire 1-2 ok lock=A
			c0 acquire 3-4 ok lock=B
			c1 acquire 3-4 ok lock=C
			nemesis crash c0 6
			c1 release 8-9 ok lock=C`,
			[]string{"c0 A 2-6 crash", "c0 B 4-6 crash", "c1 C 4-8 release"}},
		{"the modes of a read-write lock are held apart", rw, `
			c0 acquire 1-2 ok mode=read
			c0 acquire 3-4 ok mode=write
			c0 release 5-6 ok mode=read
			c0 release 7-8 ok mode=write`,
			[]string{"c0 Lread 2-5 release", "c0 Lwrite 4-7 release"}},
		{"an empty hold is none", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 release 2-3 ok`,
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims}
			holds, err := Holds(e)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range holds {
				got = append(got, holdText(h))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("holds:\n got %q\nwant %q", got, c.want)
			}
			if got := spanTexts(t, e); !slices.Equal(got, c.want) {
				t.Errorf("porcupine's side:\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

// spanTexts writes what porcupine's side believes in the same form.
func spanTexts(t *testing.T, e history.Evidence) []string {
	t.Helper()
	byLock, err := spans(newCaseFile(e))
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{"its release": account.ByRelease, "its deadline": account.ByDeadline, "nothing": account.ByNothing}
	crashed := slices.ContainsFunc(e.Ops, func(op history.Op) bool { return op.F == history.FCrash })
	var holds []Hold
	for lock, all := range byLock {
		for _, mode := range []history.Mode{"", history.Read, history.Write} {
			one := slices.DeleteFunc(slices.Clone(all), func(s linear.Span) bool { return s.Mode != mode })
			for _, s := range linear.Merge(one) {
				w, ok := why[s.Why]
				if !ok {
					w = account.ByLost
					if crashed {
						w = account.ByCrash
					}
				}
				holds = append(holds, Hold{Lock: lock, Mode: mode, Client: s.Owner, From: s.OK, To: s.End, ToWhy: w, Acquire: s.Entry})
			}
		}
	}
	sortHolds(holds)
	var texts []string
	for _, h := range holds {
		texts = append(texts, holdText(h))
	}
	return texts
}

func TestHoldsRefusesImpossibleHistories(t *testing.T) {
	ops := histories.Timeline(t, "c0 acquire 1-2 ok\nc1 acquire 3-4 ok")
	for name, spoil := range map[string]func([]history.Op){
		"time goes back":         func(ops []history.Op) { ops[2].Time = 0 },
		"negative time":          func(ops []history.Op) { ops[0].Time = -1 },
		"time out of range":      func(ops []history.Op) { ops[3].Time = time.Duration(1) << 62 },
		"an index twice":         func(ops []history.Op) { ops[3].Index = 2 },
		"two open operations":    func(ops []history.Op) { ops[1].Type = history.Invoke; ops[1].F = history.FRelease },
		"completion of nothing":  func(ops []history.Op) { ops[3].Process = 7 },
		"deadline out of range":  func(ops []history.Op) { ops[3].Lease = &history.Lease{Deadline: -1 << 62} },
		"clock offset too large": func(ops []history.Op) { ops[3].Offset = -1 << 63 },
	} {
		spoilt := slices.Clone(ops)
		spoil(spoilt)
		if _, err := Holds(history.Evidence{Ops: spoilt}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
