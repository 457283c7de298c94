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
	told.WereTried = true
	told.Tried = []Tried{
		{Remedies: []string{remedy.Durable}, Gone: []string{"exclusion", "resource"}},
		{Remedies: []string{remedy.KeepWhileInUse}, Gone: []string{"exclusion", "resource"}},
		{Remedies: []string{remedy.OwnRelease, remedy.UniqueToken}, Gone: []string{"resource"}, Left: []string{"exclusion"}, Instead: []string{"liveness by no-expiry, for ever"}},
	}
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
		told.WereTried = tried
		told.Tried = []Tried{{Remedies: []string{remedy.Durable}, Gone: []string{"exclusion", "resource"}}}
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

// Sending the renewal again helps only if it can arrive before the lease ends.
func TestAdviceOnALostRenewalAsksWhetherAnotherCouldArrive(t *testing.T) {
	for _, c := range []struct {
		name  string
		until float64 // the partition's end, in ms
		again bool
	}{
		{"a short partition", 700, true},
		{"a partition that outlasts the lease", 1900, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tape := reporttest.NewTapeOf(t, "set-nx-px-watchdog")
			tape.Acquire(0, 10, 13)
			tape.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
			tape.Window(343, c.until, history.Window{Fault: "partition", Effect: history.Cut, Links: reporttest.Link("c0", "n0", history.Both), Hits: 1})
			lost := tape.Command(0, "n0", 343, "", "EXPIRE orders 1")
			lost.Arrived, lost.Served, lost.Replied = 0, 0, 0
			tape.Acquire(1, 1700, 1703)
			tape.Command(1, "n0", 1700.4, "OK", "SET orders token-b PX 1000 NX")
			tape.Release(1, 1800, 1803, history.OK)
			tape.Release(0, 1850, 1853, history.Info)
			e := tape.Evidence()
			verdicts, err := checker.Judge(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			f, ok := FocusOn(trialOf(tape.Trial("lost-renewal", "set-nx-px-watchdog", "partition", locks.Bug, e, verdicts...)))
			if !ok || f.Finding.Cause != checker.RenewalFailed {
				t.Fatalf("got %+v, want a renewal that failed", f.Finding)
			}
			if got := strings.Join(Tell(f).Prevented, "\n"); strings.Contains(got, "trying again") != c.again {
				t.Errorf("got advice\n%s\nwant another try in it: %t", got, c.again)
			}
		})
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
