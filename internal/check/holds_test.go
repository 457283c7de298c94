package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history/applog"
)

// trueHold is a hold with its true times.
type trueHold struct {
	client, lock int
	from, to     time.Duration
	releasing    time.Duration // time from the end of the hold to the reply of the release
}

// TestVerdictsOnLogsAreTrueWhateverTheClocksShowed draws logs in which clocks are wrong by at most
// --clock-error and times are truncated. For such a log, check says "violated" only if holds
// overlapped, and "holds" only if none did.
func TestVerdictsOnLogsAreTrueWhateverTheClocksShowed(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(d *rapid.T) {
		for range 20 {
			verdictOfLog(d, seen)
		}
	})
	for _, what := range []string{"violated", "holds", "unknown"} {
		if seen[what] < 20 {
			t.Errorf("only %d logs are %s: %v", seen[what], what, seen)
		}
	}
}

func verdictOfLog(d *rapid.T, seen map[string]int) {
	ms := func(label string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from*10, to*10).Draw(d, label)) * time.Millisecond / 10
	}
	completions := rapid.Bool().Draw(d, "completions")
	wrong, slowest := ms("clock error", 0, 2), ms("release takes", 0, 2)
	var holds []trueHold
	free := map[int]time.Duration{} // when the client's last release was answered
	for range rapid.IntRange(1, 5).Draw(d, "holds") {
		h := trueHold{client: rapid.IntRange(0, 2).Draw(d, "client"), lock: rapid.IntRange(0, 1).Draw(d, "lock")}
		h.from = free[h.client] + ms("pause", 5, 40)
		h.to = h.from + ms("length", 1, 20)
		h.releasing = min(slowest, ms("releasing", 0, 2))
		free[h.client] = h.to + h.releasing
		holds = append(holds, h)
	}
	overlap := slices.ContainsFunc(holds, func(a trueHold) bool {
		return slices.ContainsFunc(holds, func(b trueHold) bool {
			return a.client != b.client && a.lock == b.lock && a.from < b.to && b.from < a.to
		})
	})
	// stamp returns the time that the client's clock showed, truncated to milliseconds. The offset
	// of 100 ms prevents negative times.
	stamp := func(at time.Duration) string {
		shown := at + rapid.SampledFrom([]time.Duration{-wrong, 0, wrong, -wrong / 2}).Draw(d, "off") + 100*time.Millisecond
		return fmt.Sprint(int64(shown.Truncate(time.Millisecond) / time.Millisecond))
	}
	var b strings.Builder
	if completions {
		b.WriteString("client,lock,f,time_ms,token\n")
	} else {
		b.WriteString("client,lock,from_ms,to_ms\n")
	}
	for i, h := range holds {
		from, to := stamp(h.from), stamp(h.to+h.releasing)
		if completions {
			fmt.Fprintf(&b, "c%d,l%d,acquired,%s,t%d\nc%d,l%d,released,%s,t%d\n", h.client, h.lock, from, i, h.client, h.lock, to, i)
		} else if len(from) > len(to) || len(from) == len(to) && from > to {
			return // a log in which a clock goes back within a hold is refused
		} else {
			fmt.Fprintf(&b, "c%d,l%d,%s,%s\n", h.client, h.lock, from, to)
		}
	}
	log, err := applog.Read([]byte(b.String()), "h.csv")
	if err != nil {
		d.Fatal(err)
	}
	f := Doubts{ClockError: wrong, ReleaseTakes: slowest}
	result, _, err := f.Judge(context.Background(), &log, "mutex")
	if err != nil {
		d.Fatal(err)
	}
	for _, v := range result.Verdicts {
		if v.Oracle != "exclusion" {
			continue
		}
		seen[string(v.Result)]++
		if v.Result == checker.Violated && !overlap || v.Result == checker.Held && overlap {
			d.Fatalf("%s, and the holds overlap: %v; clocks wrong by %v, releases up to %v\n%s%+v", v.Result, overlap, wrong, slowest, &b, holds)
		}
	}
}

// The clock is wrong, so that a release has an earlier time than its acquire. The token shows that
// they belong together. The client's next release does not end the first hold.
func TestAReleaseEndsTheHoldOfItsTokenWhateverTheClockShowed(t *testing.T) {
	for _, unendedHeld := range []bool{false, true} {
		log, err := applog.Read([]byte(`client,lock,f,time_ms,token
a,l,acquired,105,t0
a,l,released,104,t0
b,l,acquired,109,t1
b,l,released,117,t1
a,l,acquired,142,t2
a,l,released,140,t2
`), "h.csv")
		if err != nil {
			t.Fatal(err)
		}
		d := Doubts{ClockError: 1900 * time.Microsecond, ReleaseTakes: 300 * time.Microsecond, UnendedHeld: unendedHeld}
		result, _, err := d.Judge(t.Context(), &log, "mutex")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range result.Verdicts {
			if v.Oracle == "exclusion" && v.Result != checker.Held {
				t.Errorf("unended held %t: %+v, want held", unendedHeld, v)
			}
		}
	}
}
