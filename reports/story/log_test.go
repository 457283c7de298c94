package story

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// TestCommandsStandWhereTheirNodeRanThem: c1's SET is sent before c2's but runs after it. c0's DEL
// arrives long after it was sent. c1's PTTL never arrives.
func TestCommandsStandWhereTheirNodeRanThem(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(1, 10, 13)
	tape.Acquire(2, 10.1, 13.1)
	ran := func(client int, sent, served float64, reply, line string) {
		c := tape.Command(client, "n0", sent, reply, line)
		c.Arrived, c.Served, c.Replied = reporttest.MS(served), reporttest.MS(served), reporttest.MS(served+0.1)
	}
	ran(0, 1, 60, "1", "DEL orders")
	ran(1, 10.4, 11.5, "OK", "SET orders token-b")
	ran(2, 10.5, 11.4, "OK", "SET orders token-c")
	lost := tape.Command(1, "n0", 30, "", "PTTL orders")
	lost.Arrived, lost.Served, lost.Replied = 0, 0, 0
	tape.Release(1, 80, 83, history.OK)
	tape.Release(2, 81, 84, history.OK)
	e := tape.Evidence()
	trial := tape.Trial("", "exists-set", "none", "", e, reporttest.Violated("exclusion", reporttest.Finding(e, checker.Race, 13.1, 80, "both", 2, 1, 0)))
	f, ok := FocusOn(trialOf(trial))
	if !ok {
		t.Fatal("no finding")
	}
	var got []string
	entries, _ := Log(f)
	for _, x := range entries {
		if strings.Contains(x.Who, "→") {
			got = append(got, wording.Stamp(x.At)+" "+wording.Plain(x.What))
		}
	}
	want := []string{
		"0.011400 SET orders token-c = OK",
		"0.011500 SET orders token-b = OK",
		"0.030000 PTTL orders, it was not seen to arrive",
		"0.060000 DEL orders = 1, sent at 0.001 s",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := "commands when their node ran them"; !strings.Contains(Ordered, want) {
		t.Errorf("the order is told as %q, want %q", Ordered, want)
	}
}

func TestFaultLinesTellWhatTheNemesisDid(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(1, 10, 13)
	tape.Window(20, 40, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{1}, Hits: 2, Impact: &history.Impact{Messages: 2}})
	tape.Crash(1, 50)
	want := []string{
		"   0.020000  nemesis  client-pause c1 begins",
		"   0.040000  nemesis  client-pause c1 ends; 2 hit: frozen from 0.020 s for 20 ms; 2 messages waited at the gate",
		"   0.050000  nemesis  c1 crashed",
	}
	if got := FaultLines(tape.Evidence().Ops); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadingUnderAReadWriteLockIsSaidOnce(t *testing.T) {
	for op, want := range map[string]history.Op{
		"begins to acquire to read": {F: history.FAcquire, Type: history.Invoke, Mode: "read"},
		"begins to read":            {F: history.FRead, Type: history.Invoke, Mode: "read"},
		"write: done":               {F: history.FWrite, Type: history.OK, Mode: "write"},
	} {
		if got := opWords(want); got != op {
			t.Errorf("got %q, want %q", got, op)
		}
	}
}

func TestAnAttemptThatWasPresumedBusyIsToldWithItsError(t *testing.T) {
	op := history.Op{F: history.FAcquire, Type: history.Info, Reason: history.Presumed, Error: "i/o timeout"}
	if got, want := opWords(op), "acquire: **outcome unknown** (presumed-busy): i/o timeout"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	told := &teller{Focus: Focus{Cast: []int{0}}}
	told.Pairs = []history.Pair{{Invoke: &history.Op{F: history.FAcquire, Type: history.Invoke}, Complete: &op}}
	steps := told.answers()
	if len(steps) != 1 || !strings.Contains(steps[0].Text, "its lock reported that another client holds it") {
		t.Errorf("got %+v, want one step that tells what the lock told its client", steps)
	}
}

// A hang lasts to the trial's end. The text must not say that the client came back when the
// fault's window ended or when all faults were healed.
func TestAHangIsNotToldAsOver(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(0, 10, 13)
	tape.Window(14, 500, history.Window{Fault: "hung-work", Effect: history.Hung, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: history.Moment{Time: reporttest.MS(14), Client: 0, Step: "hold"}, From: reporttest.MS(14)}})
	tape.Event(history.FHung, 14.1, func(o *history.Op) { o.Client = 0 })
	tape.Event(history.FHealed, 500.1, func(o *history.Op) { o.Client = history.NoClient })
	lines := strings.Join(FaultLines(tape.Evidence().Ops), "\n")
	says(t, lines, []string{
		"hung-work c0 is over: no more clients are hung from here on; 1 hit: c0 at the beginning of hold: at work for ever",
		"everything is healed, but c0 goes on hanging in its work",
	}, []string{"hung-work c0 ends"})
}
