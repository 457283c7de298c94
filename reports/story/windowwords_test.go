package story

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// struckAt returns the impact of a test's fault: it struck at 60 ms, before c0 sent DEL, and lasted
// 1.44 s. change, if not nil, modifies the impact.
func struckAt(change func(*history.Impact)) *history.Impact {
	at := reporttest.Before(0, "release", "DEL")
	at.Time = reporttest.MS(60)
	i := &history.Impact{At: at, From: reporttest.MS(60), For: reporttest.MS(1440)}
	if change != nil {
		change(i)
	}
	return i
}

func TestAWindowIsToldFromItsFacts(t *testing.T) {
	const place = "c0 about to send DEL orders to n0"
	fate := func(f history.Fate, spared bool) history.KeyFate {
		return history.KeyFate{Node: "n0", Key: "orders", Fate: f, Spared: spared}
	}
	for _, c := range []struct {
		window history.Window
		want   string
	}{
		{history.Window{Effect: history.Cut}, "its trigger did not come"},
		{history.Window{Effect: history.Cut, Impact: struckAt(func(i *history.Impact) { i.Messages = 2 })}, place + ": 2 messages dropped, from 0.060 s for 1.44 s"},
		{history.Window{Effect: history.ReplyLost, Impact: struckAt(func(i *history.Impact) { i.Messages, i.For = 1, 0 })}, place + ": 1 message lost, at 0.060 s"},
		{history.Window{Effect: history.Delayed, Impact: struckAt(func(i *history.Impact) {
			i.Messages, i.Until = 1, &history.Moment{Client: 1, Step: "hold"}
		})}, place + ": 1 message held, from 0.060 s for 1.44 s, until c1 began hold"},
		{history.Window{Effect: history.Reset, Impact: struckAt(func(i *history.Impact) { i.Connections = 1 })}, place + ": 1 connection reset, from 0.060 s for 1.44 s"},
		{history.Window{Effect: history.Paused, Clients: []int{0}, Impact: struckAt(func(i *history.Impact) {
			u := reporttest.Before(2, "acquire", "SET")
			i.Messages, i.Until = 1, &u
		})}, place + ": frozen from 0.060 s for 1.44 s, until c2 came to its SET orders; 1 message waited at the gate"},
		{history.Window{Effect: history.Paused, Nodes: []string{"n0"}, Impact: struckAt(func(i *history.Impact) { i.Commands = 3 })}, place + ": frozen from 0.060 s for 1.44 s; 3 commands waited"},
		{history.Window{Effect: history.Crashed, Clients: []int{0}, Impact: struckAt(func(i *history.Impact) { i.From, i.For = 0, 0 })}, place + " at 0.060 s: stopped for ever"},
		{history.Window{Effect: history.Restarted, Nodes: []string{"n0"}, Impact: struckAt(func(i *history.Impact) {
			i.Keys = []history.KeyFate{fate(history.FateLost, true), fate(history.FateExpired, false), fate(history.FateOutlasted, false), fate(history.FateRevived, false)}
		})}, place + ": down by 0.060 s, back by 1.500 s: n0 lost orders, which a quorum of others has; n0's orders expired meanwhile; n0 was away for longer than the life of orders; n0 has orders again"},
		{history.Window{Effect: history.Promoted, Impact: struckAt(nil)}, place + ": replication lagged from 0.060 s for 1.44 s, the primary lived on"},
		{history.Window{Effect: history.Promoted, Impact: struckAt(func(i *history.Impact) {
			i.Keys = []history.KeyFate{fate(history.FateLost, false), fate(history.FateRevived, false)}
			i.Handover = &history.Handover{From: "n0", To: "n1", How: history.PrimaryCutOff, At: reporttest.MS(1510)}
		})}, place + ": replication stopped from 0.060 s for 1.44 s; n0 cut off, n1 promoted by 1.510 s: it lacks orders as it was and still has orders"},
		{history.Window{Effect: history.Promoted, Impact: struckAt(func(i *history.Impact) {
			i.Handover = &history.Handover{From: "n0", To: "n1", How: history.PrimaryOutvoted, Told: reporttest.MS(1510)}
		})}, place + ": n0 reached by clients only, from 0.060 s for 1.44 s; n1 elected, clients told by 1.510 s: it has all that the old primary had"},
		{history.Window{Effect: history.Parted, Clients: []int{1, 2}, Nodes: []string{"n1"}, Impact: struckAt(func(i *history.Impact) { i.Writes = 1 })}, place + ": c1 and c2 served by n1, the others by the old primary, from 0.060 s for 1.44 s; the old primary lost 1 acknowledged write"},
		{history.Window{Effect: history.ClockSet, Clients: []int{0}, Impact: struckAt(func(i *history.Impact) { i.Offset, i.Attempts, i.Holding = -2*time.Second, 2, true })}, place + ": the clock was 2 s behind from 0.060 s for 1.44 s; with it, it held the lock, and asked for it 2 times"},
		{history.Window{Effect: history.ClockSet, Nodes: []string{"n0"}, Impact: struckAt(func(i *history.Impact) { i.Offset, i.Shifted = time.Minute, 1 })}, place + ": the clock was 60 s ahead from 0.060 s for 1.44 s: the jump changed the lives of 1 key, the correction those of 0 keys"},
		{history.Window{Effect: history.Flushed, Impact: struckAt(func(i *history.Impact) { i.Scripts, i.From = 2, 0 })}, place + " at 0.060 s: 2 scripts thrown away"},
		{history.Window{Effect: history.Evicted, Impact: struckAt(func(i *history.Impact) { i.Keys, i.From = []history.KeyFate{fate(history.FateEvicted, false)}, 0 })}, place + " at 0.060 s: n0 evicted orders"},
		{history.Window{Effect: history.SlotMoved, Impact: struckAt(func(i *history.Impact) {
			i.From, i.Keys = 0, []history.KeyFate{fate(history.FateMoved, false)}
			i.Handover = &history.Handover{From: "n0", To: "n1", At: reporttest.MS(61), Told: reporttest.MS(70)}
		})}, place + " at 0.060 s: orders went from n0 to n1 at 0.061 s, everybody was told by 0.070 s"},
		{history.Window{Effect: history.SlotMoved, Impact: &history.Impact{At: history.Moment{Time: reporttest.MS(60)}}}, "at 0.060 s: no key was there to move"},
	} {
		if got := impactWords(c.window); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.window.Effect, got, c.want)
		}
	}
}

func TestEveryEffectHasItsWords(t *testing.T) {
	for _, e := range []history.FaultEffect{
		history.Cut, history.ReplyLost, history.Delayed, history.Reset, history.Paused, history.Crashed, history.Slowed,
		history.Hung, history.Restarted, history.Promoted, history.Parted, history.ClockSet, history.Flushed, history.Evicted, history.SlotMoved,
	} {
		if effectWords[e] == nil {
			t.Errorf("%s has no words", e)
		}
	}
}

func TestWhatIsPlannedIsToldFromItsTiming(t *testing.T) {
	both := &history.Trigger{Clients: []int{0, 1}, Step: "acquire", Node: "n0", N: 2, When: history.Before}
	for _, c := range []struct {
		timing *history.Timing
		want   string
	}{
		{nil, ""},
		{&history.Timing{At: reporttest.MS(3), Point: both, For: reporttest.MS(1200)}, "not before 0.003 s, c0 or c1 before the 2nd command of acquire to n0, for 1.2 s"},
		{&history.Timing{After: 1, Delay: reporttest.MS(5), Arm: &history.Trigger{Clients: []int{2}, Step: "rest"}}, "5 ms after fault 1, once c2 at the beginning of rest"},
		{&history.Timing{After: 1, Until: &history.Trigger{Who: history.Other, Step: "hold", Skip: 2}, Limit: reporttest.MS(100)}, "after fault 1, until another client at the beginning of hold, after 2 others, at most 100 ms"},
		{&history.Timing{For: reporttest.MS(1), Until: &history.Trigger{Who: history.Same, Step: "release", N: 11, When: history.Sent}, Limit: reporttest.MS(100)}, "for 1 ms and until the same client having sent the 11th command of release, at most 100 ms"},
	} {
		if got := planWords(c.timing); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	opened := history.Window{Planned: &history.Timing{For: reporttest.MS(1)}}
	if got := WindowWords(opened, nil); got != "for 1 ms; it was never healed" {
		t.Errorf("of one that is open, got %q", got)
	}
	if got := WindowWords(opened, &history.Window{}); got != "for 1 ms; 0 hit: its trigger did not come" {
		t.Errorf("of one without a trigger, got %q", got)
	}
}
