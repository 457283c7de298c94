package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// toldOf is the story and the advice of a hand-made trial.
func toldOf(t *testing.T, result trial.Result, e history.Evidence) string {
	t.Helper()
	f, ok := focusOn(result, e)
	if !ok {
		t.Fatal("no finding")
	}
	s := tellStory(e, f)
	var out strings.Builder
	for _, x := range s.Steps {
		fmt.Fprintf(&out, "%s: %s\n", instant(x.At), x.Text)
	}
	for _, p := range s.Prevented {
		fmt.Fprintf(&out, "- %s\n", p)
	}
	return out.String()
}

// says checks that a text has all these, and none of those.
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
			links = append(links, link(ends[i], ends[i+1], d)...)
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
		w := faultWindow{Window: history.Window{Links: c.links, Effect: c.effect}, Open: true}
		if got := new(teller).windowWords(w); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", w.Target(), got, c.want)
		}
	}
}

// failedOver is a grant that a replica never got, as it was cut off from the primary
// or left behind by the failover itself; wait is what a WAIT was answered.
func failedOver(tb testing.TB, cut bool, wait string) (trial.Result, history.Evidence) {
	t := newTape(tb)
	if cut {
		t.window(149, 1149, history.Window{Fault: "partition", Effect: history.Cut, Links: link("n1", "n0", ""), Hits: 2, Impact: &history.Impact{Messages: 2}})
		t.window(154, 154.2, history.Window{Fault: "failover", Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n1", Key: "orders", Fate: history.FateLost}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: ms(154.1)}}})
	} else {
		t.window(50, 154.2, history.Window{Fault: "failover", Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n1", Key: "orders", Fate: history.FateLost}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: ms(154.1)}}})
	}
	t.acquire(0, 150, 154)
	t.command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	if wait != "" {
		t.command(0, "n0", 152, wait, "WAIT 1 100")
	}
	t.event(history.FNodeDown, 154.1, func(o *history.Op) { o.Node = "n0" })
	t.event(history.FPromote, 154.1, func(o *history.Op) { o.Node = "n1" })
	t.acquire(1, 400, 403)
	t.command(1, "n1", 400.4, "OK", "SET orders token-b PX 1000 NX")
	t.command(1, "n1", 401.5, "1", "WAIT 1 100") // says nothing of the first key
	t.release(0, 500, 503, history.Fail)
	t.release(1, 520, 523, history.OK)
	e := t.evidence()
	return t.trial("set-nx-px", "failover", locks.Limit, e, violated("exclusion", finding(e, checker.ServerLostKey, 403, 500, "both", 1, 0))), e
}

func TestAReplicaIsBehindFromWhenItWasCutOff(t *testing.T) {
	result, e := failedOver(t, true, "1")
	says(t, toldOf(t, result, e), []string{
		"0.149 s: the network between n0 and n1 was cut until 1.149 s: neither got what the other wrote",
		"- waiting for all replicas (WAIT), or promoting only one that acknowledged",
	}, []string{"stopped getting", "(WAIT) before the lock counts"})
}

func TestAReplicaThatWasBehindBeforeTheStoryIsTold(t *testing.T) {
	for _, wait := range []string{"", "0"} {
		result, e := failedOver(t, false, wait)
		says(t, toldOf(t, result, e), []string{
			"0.050 s: n1 stopped getting what the primary wrote",
			"n0 went down, and n1 was made the primary, and c0's key was lost with n0: n1 had never got it",
			"- waiting until replicas have the key (WAIT)",
		}, []string{"only one that acknowledged"})
	}
}

func TestALongStoryKeepsWhatTheNemesisDid(t *testing.T) {
	steps := []step{{Text: "a replica fell behind", Weight: struck}}
	for range longestStory {
		steps = append(steps, step{Text: "a key was set", Weight: part})
	}
	if got := shorten(append(steps, step{Text: "two hold it", Weight: turning})); len(got) != longestStory || got[0].Weight != struck {
		t.Errorf("got %+v", got)
	}
}

func TestAFreezeIsToldBesideAClockThatJumped(t *testing.T) {
	tape := newTape(t)
	tape.op(0, history.FAcquire, 10, 13, history.OK, func(o *history.Op) { o.Lease = &history.Lease{Token: "token-a", Deadline: ms(1010)} })
	tape.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	tape.event(history.FClock, 14, func(o *history.Op) { o.Client, o.Offset = 0, ms(-2500) })
	tape.window(14, 1100, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: before(0, "hold", "")}})
	tape.acquire(1, 1050, 1053)
	tape.command(1, "n0", 1050.4, "OK", "SET orders token-b PX 1000 NX")
	tape.release(0, 1101, 1104, history.Fail)
	e := tape.evidence()
	result := tape.trial("set-nx-px", "client-skew", locks.Limit, e, violated("exclusion", finding(e, checker.ClientClock, 1053, 1100, "both", 1, 0)))
	says(t, toldOf(t, result, e), []string{"c0's wall clock jumped", "c0 froze until 1.1", "- a deadline by a monotonic clock", "- a fencing token"},
		[]string{"letting Redis count the TTL"})
}

func TestWhoAskedInVainIsCountedFromWhenTheKeyWasLeft(t *testing.T) {
	tape := newTape(t)
	tape.acquire(1, 5, 8)
	tape.command(1, "n0", 5.4, "1", "SETNX orders 1")
	tape.busy(2, 6, 8)
	tape.release(1, 20, 23, history.OK)
	tape.command(1, "n0", 20.4, "1", "DEL orders")
	tape.op(0, history.FAcquire, 50, -1, "", nil)
	tape.command(0, "n0", 50.4, "1", "SETNX orders 1").Replied = 0
	tape.crash(0, 51.6)
	for _, at := range []float64{100, 600, 1100, 1600} {
		tape.busy(1, at, at+3)
		tape.command(1, "n0", at+0.4, "0", "SETNX orders 1")
	}
	e := tape.evidence()
	f := finding(e, checker.NoExpiry, 1050, 1700, "nobody got in", 1)
	f.Clients, f.Forever = []int{0, 1}, true
	result := tape.trial("setnx-expire", "client-crash", locks.Bug, e, violated("liveness", f))
	says(t, toldOf(t, result, e), []string{"0.100 s: from now on c1 asked for the lock in vain, 4 times"}, []string{"c2"})
}
