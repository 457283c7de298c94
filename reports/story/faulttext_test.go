package story

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// toldOf returns the steps and the advice of a hand-made trial's story.
func toldOf(t *testing.T, trial reporttest.Trial) string {
	t.Helper()
	f, ok := FocusOn(trialOf(trial))
	if !ok {
		t.Fatal("no finding")
	}
	s := Tell(f)
	var out strings.Builder
	for _, x := range s.Steps {
		fmt.Fprintf(&out, "%s: %s\n", wording.Instant(x.At), x.Text)
	}
	for _, p := range s.Prevented {
		fmt.Fprintf(&out, "- %s\n", p)
	}
	return out.String()
}

// says checks that text contains every string in these and no string in those.
func says(t *testing.T, text string, these, those []string) {
	t.Helper()
	for _, want := range these {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, not := range those {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
}

func TestCutLinksAreToldAsTheyWereCut(t *testing.T) {
	all := func(d history.Direction, ends ...string) (links []history.Link) {
		for i := 0; i < len(ends); i += 2 {
			links = append(links, reporttest.Link(ends[i], ends[i+1], d)...)
		}
		return links
	}
	for _, c := range []struct {
		links  []history.Link
		effect history.FaultEffect
		want   string
	}{
		{all(history.Both, "c0", "n3", "c0", "n4", "c1", "n4", "c1", "n0", "c2", "n0", "c2", "n1"), history.Cut, "the network cut off c0 from n3 and n4, c1 from n0 and n4, c2 from n0 and n1"},
		{all(history.Both, "c0", "n0", "c0", "n1", "c1", "n1", "c1", "n0"), history.Cut, "the network between c0 and c1 and n0 and n1 was cut"},
		{all(history.Upstream, "c0", "n0", "c1", "n1"), history.Delayed, "the network held up what c0 sent to n0, what c1 sent to n1"},
		{all(history.Downstream, "c0", "n0", "c1", "n1"), history.Cut, "no reply of n0 reached c0, no reply of n1 reached c1"},
		{all("", "c0", "n0", "c1", "n1"), history.Reset, "connections broke: of c0 to n0, of c1 to n1"},
		{all(history.Both, "n1", "n0"), history.Cut, "the network between n0 and n1 was cut: neither got what the other wrote"},
	} {
		w := facts.Window{Window: history.Window{Links: c.links, Effect: c.effect}, Open: true}
		if got := new(teller).windowWords(w); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", w.Target(), got, c.want)
		}
	}
}

// failedOver returns a trial in which a promoted replica lacks a granted key. If cut is set, the
// network had cut the replica off from the primary; otherwise the fault had stopped replication.
// wait is the reply to c0's WAIT; "" = c0 sent no WAIT.
func failedOver(tb testing.TB, cut bool, wait string) reporttest.Trial {
	t := reporttest.NewTape(tb)
	if cut {
		t.Window(149, 1149, history.Window{Fault: "partition", Effect: history.Cut, Links: reporttest.Link("n1", "n0", ""), Hits: 2, Impact: &history.Impact{Messages: 2}})
		t.Window(154, 154.2, history.Window{Fault: "failover", Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n1", Key: "orders", Fate: history.FateLost}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: reporttest.MS(154.1)}}})
	} else {
		t.Window(50, 154.2, history.Window{Fault: "failover", Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n1", Key: "orders", Fate: history.FateLost}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: reporttest.MS(154.1)}}})
	}
	t.Acquire(0, 150, 154)
	t.Command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	if wait != "" {
		t.Command(0, "n0", 152, wait, "WAIT 1 100")
	}
	t.Event(history.FNodeDown, 154.1, func(o *history.Op) { o.Node = "n0" })
	t.Event(history.FPromote, 154.1, func(o *history.Op) { o.Node = "n1" })
	t.Acquire(1, 400, 403)
	t.Command(1, "n1", 400.4, "OK", "SET orders token-b PX 1000 NX")
	t.Command(1, "n1", 401.5, "1", "WAIT 1 100") // about the second client's key only
	t.Release(0, 500, 503, history.Fail)
	t.Release(1, 520, 523, history.OK)
	e := t.Evidence()
	return t.Trial("", "set-nx-px", "failover", locks.Limit, e, reporttest.Violated("exclusion", reporttest.Finding(e, checker.ServerLostKey, 403, 500, "both", 1, 0)))
}

func TestAReplicaIsBehindFromWhenItWasCutOff(t *testing.T) {
	trial := failedOver(t, true, "1")
	says(t, toldOf(t, trial), []string{
		"0.149 s: the network between n0 and n1 was cut until 1.149 s: neither got what the other wrote",
		"- waiting until all replicas have the key (WAIT)",
	}, []string{"stopped getting"})
}

func TestAReplicaThatWasBehindBeforeTheStoryIsTold(t *testing.T) {
	for _, wait := range []string{"", "0"} {
		trial := failedOver(t, false, wait)
		says(t, toldOf(t, trial), []string{
			"0.050 s: n1 stopped getting what the primary wrote",
			"n0 went down, and n1 was made the primary, and c0's key was lost with n0: n1 had never got it",
			"- waiting until all replicas have the key (WAIT)",
		}, nil)
	}
}

func TestALongStoryKeepsWhatTheNemesisDid(t *testing.T) {
	steps := []Step{{Text: "a replica fell behind", Weight: struck}}
	for range MaxSteps {
		steps = append(steps, Step{Text: "a key was set", Weight: part})
	}
	if got := shorten(append(steps, Step{Text: "two hold it", Weight: turning})); len(got) != MaxSteps || got[0].Weight != struck {
		t.Errorf("got %+v", got)
	}
}

func TestAFreezeIsToldBesideAClockThatJumped(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Op(0, history.FAcquire, 10, 13, history.OK, func(o *history.Op) { o.Lease = &history.Lease{Token: "token-a", Deadline: reporttest.MS(1010)} })
	tape.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	tape.Event(history.FClock, 14, func(o *history.Op) { o.Client, o.Offset = 0, reporttest.MS(-2500) })
	tape.Window(14, 1100, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: reporttest.Before(0, "hold", "")}})
	tape.Acquire(1, 1050, 1053)
	tape.Command(1, "n0", 1050.4, "OK", "SET orders token-b PX 1000 NX")
	tape.Release(0, 1101, 1104, history.Fail)
	e := tape.Evidence()
	trial := tape.Trial("", "set-nx-px", "client-skew", locks.Limit, e, reporttest.Violated("exclusion", reporttest.Finding(e, checker.ClientClock, 1053, 1100, "both", 1, 0)))
	says(t, toldOf(t, trial), []string{"c0's wall clock jumped", "c0 froze until 1.1", "- a deadline by a monotonic clock", "- a fencing token"},
		[]string{"letting Redis count the TTL"})
}

func TestWhoAskedInVainIsCountedFromWhenTheKeyWasLeft(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(1, 5, 8)
	tape.Command(1, "n0", 5.4, "1", "SETNX orders 1")
	tape.Busy(2, 6, 8)
	tape.Release(1, 20, 23, history.OK)
	tape.Command(1, "n0", 20.4, "1", "DEL orders")
	tape.Op(0, history.FAcquire, 50, -1, "", nil)
	tape.Command(0, "n0", 50.4, "1", "SETNX orders 1").Replied = 0
	tape.Crash(0, 51.6)
	for _, at := range []float64{100, 600, 1100, 1600} {
		tape.Busy(1, at, at+3)
		tape.Command(1, "n0", at+0.4, "0", "SETNX orders 1")
	}
	e := tape.Evidence()
	f := reporttest.Finding(e, checker.NoExpiry, 1050, 1700, "nobody got in", 1)
	f.Clients, f.Forever = []int{0, 1}, true
	trial := tape.Trial("", "setnx-expire", "client-crash", locks.Bug, e, reporttest.Violated("liveness", f))
	says(t, toldOf(t, trial), []string{"0.100 s: from now on c1 asked for the lock in vain, 4 times"}, []string{"c2"})
}

// The key that c0 left behind lets c0 in once more. Attempts count as in vain only after that hold: then
// nobody got in any more.
func TestWhoAskedInVainIsCountedFromTheLastHold(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Op(0, history.FAcquire, 50, 53, history.Info, nil)
	tape.Command(0, "n0", 50.4, "1", "SETNX orders 1").Replied = 0
	ask := func(times ...float64) {
		for _, at := range times {
			tape.Busy(1, at, at+3)
			tape.Command(1, "n0", at+0.4, "0", "SETNX orders 1")
		}
	}
	ask(100, 600)
	tape.Acquire(0, 700, 703)
	tape.Release(0, 800, 803, history.OK)
	ask(1100, 1600)
	e := tape.Evidence()
	f := reporttest.Finding(e, checker.NoExpiry, 600, 1700, "nobody got in", 1)
	f.Clients, f.Forever = []int{0, 1}, true
	trial := tape.Trial("", "setnx-expire", "lost-reply", locks.Bug, e, reporttest.Violated("liveness", f))
	says(t, toldOf(t, trial), []string{"1.100 s: from now on c1 asked for the lock in vain, 2 times: nobody got in any more"}, nil)
}

// The fault on the link begins before the command runs, but the story mentions the lost reply
// after the command's effect.
func TestALostReplyIsToldAfterWhatItsCommandDid(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Window(49.9, 250, history.Window{Fault: "lost-reply", Effect: history.ReplyLost, Links: reporttest.Link("c0", "n0", history.Downstream), Hits: 1, Impact: &history.Impact{Messages: 1}})
	tape.Op(0, history.FAcquire, 50, 250, history.Info, nil)
	tape.Command(0, "n0", 50.4, "1", "SETNX orders 1").Replied = 0
	for _, at := range []float64{100, 600, 1100, 1600} {
		tape.Busy(1, at, at+3)
		tape.Command(1, "n0", at+0.4, "0", "SETNX orders 1")
	}
	e := tape.Evidence()
	f := reporttest.Finding(e, checker.NoExpiry, 100, 1700, "nobody got in", 1)
	f.Clients, f.Forever = []int{0, 1}, true
	told := toldOf(t, tape.Trial("", "setnx-expire", "lost-reply", locks.Bug, e, reporttest.Violated("liveness", f)))
	set, lost := strings.Index(told, "c0's SETNX set the key"), strings.Index(told, "the reply of n0 to c0's SETNX was lost")
	if set < 0 || lost < set {
		t.Errorf("the reply is not told as lost after the key was set:\n%s", told)
	}
}
