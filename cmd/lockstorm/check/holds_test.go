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
}

// TestVerdictsOnLogsAreTrueWhateverTheClocksShowed draws logs in which clocks are wrong by at most
// --clock-error, times are truncated and some ends are missing. For such a log, check says "violated" only if holds
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
	wrong := ms("clock error", 0, 2)
	var holds []trueHold
	free := map[int]time.Duration{} // when the client's last hold ended
	for range rapid.IntRange(1, 5).Draw(d, "holds") {
		h := trueHold{client: rapid.IntRange(0, 2).Draw(d, "client"), lock: rapid.IntRange(0, 1).Draw(d, "lock")}
		h.from = free[h.client] + ms("pause", 5, 40)
		h.to = h.from + ms("length", 1, 20)
		free[h.client] = h.to
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
		return fmt.Sprintf("%.3f", shown.Truncate(time.Millisecond).Seconds())
	}
	var b strings.Builder
	b.WriteString("process,lock,from,to\n")
	for _, h := range holds {
		from, to := stamp(h.from), stamp(h.to)
		if from > to { // as texts: all have as many digits
			return // a log in which a clock goes back within a hold is refused
		}
		if rapid.IntRange(0, 9).Draw(d, "open") == 0 {
			to = ""
		}
		fmt.Fprintf(&b, "c%d,l%d,%s,%s\n", h.client, h.lock, from, to)
	}
	log, err := applog.Read([]byte(b.String()), "h.csv")
	if err != nil {
		d.Fatal(err)
	}
	result, _, err := JudgeLog(context.Background(), &log, wrong, "mutex")
	if err != nil {
		d.Fatal(err)
	}
	for _, v := range result.Verdicts {
		if v.Oracle != "exclusion" {
			continue
		}
		seen[string(v.Result)]++
		if v.Result == checker.Violated && !overlap || v.Result == checker.Held && overlap {
			d.Fatalf("%s, and the holds overlap: %v; clocks wrong by %v\n%s%+v", v.Result, overlap, wrong, &b, holds)
		}
	}
}
