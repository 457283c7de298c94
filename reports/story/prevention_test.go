package story

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

func TestAdviceOnARaceAcrossTwoPrimariesIsNoAtomicStep(t *testing.T) {
	for _, c := range []struct {
		name         string
		sample       reporttest.Trial
		want, refuse string
	}{
		{"two primaries", reporttest.Made(t, "split-brain"), "min-replicas-to-write", "one atomic step"},
		{"one node", reporttest.Made(t, "evicted"), "one atomic step", "min-replicas-to-write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.sample.Verdicts {
				for j := range c.sample.Verdicts[i].Findings {
					c.sample.Verdicts[i].Findings[j].Cause = checker.Race
				}
			}
			f, ok := FocusOn(trialOf(c.sample))
			if !ok {
				t.Fatal("no finding to tell")
			}
			got := strings.Join(Tell(f).Prevented, "\n")
			if !strings.Contains(got, c.want) || strings.Contains(got, c.refuse) {
				t.Errorf("got advice\n%s\nwant some with %q and none with %q", got, c.want, c.refuse)
			}
		})
	}
}

func TestAStoryTellsWhatTriedRemediesDid(t *testing.T) {
	told := trialOf(reporttest.Made(t, "evicted"))
	told.Remedied = &remedy.Effects{Tried: []remedy.Effect{
		{Remedies: []string{remedy.Durable}, Gone: []string{"exclusion", "resource"}},
		{Remedies: []string{remedy.KeepWhileInUse}, Gone: []string{"exclusion", "resource"}},
		{Remedies: []string{remedy.OwnRelease, remedy.UniqueToken}, Gone: []string{"resource"}, Left: []string{"exclusion"}, Instead: []string{"liveness by no-expiry, for ever"}},
	}}
	f, ok := FocusOn(told)
	if !ok {
		t.Fatal("no finding to tell")
	}
	got := Tell(f).Prevented
	for i, want := range []string{
		"(tried: the violation is gone)",
		"(tried at its best, better than any real measure: the violation is gone)",
		"(tried: only the violation of resource is gone, that of exclusion is left; instead: liveness by no-expiry, for ever)",
	} {
		if i >= len(got) || !strings.HasSuffix(got[i], want) {
			t.Errorf("remedy %d: got %q, want %q at its end", i+1, got, want)
		}
	}
	for _, text := range got[min(3, len(got)):] {
		if !strings.HasSuffix(text, "(not tried)") {
			t.Errorf("got %q, want no remedy that could be tried and had no effect", text)
		}
	}
}

func TestAListOfRemediesSaysOnceThatNoneWasTried(t *testing.T) {
	for _, tried := range []bool{false, true} {
		told := trialOf(reporttest.Made(t, "evicted"))
		if tried {
			told.Remedied = &remedy.Effects{Tried: []remedy.Effect{{Remedies: []string{remedy.Durable}, Gone: []string{"exclusion", "resource"}}}}
		}
		f, ok := FocusOn(told)
		if !ok {
			t.Fatal("no finding to tell")
		}
		s := Tell(f)
		for name, text := range map[string]string{"Markdown": s.Markdown(), "Terminal": s.Terminal(80), "Lines": strings.Join(s.Lines(), "\n")} {
			if n := strings.Count(text, "What would have prevented it (not tried):"); n != 1 && !tried || n != 0 && tried {
				t.Errorf("%s, tried: %t: %d times says that none was tried\n%s", name, tried, n, text)
			}
		}
	}
}

// A client library sent SET NX again after the reply was lost. The client's own key refused the
// second SET NX.
func TestAdviceOnAKeyThatRefusesItsOwnClientIsALookAtTheKey(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Busy(0, 10, 60)
	lost := tape.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	lost.Replied = 0
	tape.Command(0, "n0", 50, "nil", "SET orders token-a PX 1000 NX")
	tape.Busy(1, 200, 203)
	tape.Command(1, "n0", 200.4, "nil", "SET orders token-b PX 1000 NX")
	tape.Acquire(1, 1100, 1103)
	tape.Command(1, "n0", 1100.4, "OK", "SET orders token-c PX 1000 NX")
	tape.Release(1, 1200, 1203, history.OK)
	e := tape.Evidence()
	verdicts, err := checker.Judge(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := FocusOn(trialOf(tape.Trial("own-refusal", "set-nx-px", "lost-reply", locks.Limit, e, verdicts...)))
	if !ok || f.Finding.Cause != checker.OrphanedKey {
		t.Fatalf("got %+v, want an orphaned key", f.Finding)
	}
	got := strings.Join(Tell(f).Prevented, "\n")
	if !strings.Contains(got, "the client's own token") || strings.Contains(got, "a holder that is gone") {
		t.Errorf("got advice\n%s", got)
	}
}
