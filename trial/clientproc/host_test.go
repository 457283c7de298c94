package clientproc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/child"
)

func TestWhatAClientProcessDoesIsRecordedHere(t *testing.T) {
	s := mustOpen(t, "write", 2)
	time.AfterFunc(10*time.Millisecond, func() { close(s.healed) })
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	ops := s.rec.Ops()
	if _, err := history.Pairs(ops); err != nil || len(ops) != 4 {
		t.Fatalf("got %d entries, %v: %+v", len(ops), err, ops)
	}
	var seqs []int64
	for _, op := range ops {
		if op.Type == history.OK {
			seqs = append(seqs, op.Seq)
		}
		if op.F != history.FWrite || !slices.Equal(op.Value, []int64{7}) {
			t.Errorf("got %+v", op)
		}
	}
	if slices.Sort(seqs); !slices.Equal(seqs, []int64{1, 2}) {
		t.Errorf("numbers of the writes are %v, want 1 and 2", seqs)
	}
	if err := s.Died(); err != nil {
		t.Error(err)
	}
}

// ticks waits until the history has more than the given number of entries, and returns the history.
func (s *stage) ticks(t *testing.T, after int) []history.Op {
	t.Helper()
	var ops []history.Op
	until(t, "the client says no more", func() bool {
		ops = s.rec.Ops()
		return len(ops) > after
	})
	return ops
}

// quiet waits until no more entries arrive, and returns their number.
func (s *stage) quiet(t *testing.T) int {
	t.Helper()
	seen, since := -1, time.Now()
	until(t, "the client does not fall silent", func() bool {
		if n := len(s.rec.Ops()); n != seen {
			seen, since = n, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond
	})
	return seen
}

// until waits until cond is true. After two minutes it fails the test with message.
func until(t *testing.T, message string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(message)
		}
	}
}

func TestAFrozenProcessDoesNothingUntilTheLastThaw(t *testing.T) {
	s := mustOpen(t, "tick", 1)
	go s.Run(t.Context())
	s.ticks(t, 3)
	for range 2 {
		if err := s.Freeze(0); err != nil {
			t.Fatal(err)
		}
	}
	frozen := s.quiet(t)
	s.Skew(0, -time.Hour)
	if err := s.Thaw(0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if got := len(s.rec.Ops()); got != frozen {
		t.Errorf("%d entries of a frozen process", got-frozen)
	}
	if err := s.Thaw(0); err != nil {
		t.Fatal(err)
	}
	ops := s.ticks(t, frozen+1)
	if first := ops[frozen+1]; first.Lock != "-1h0m0s" { // the client may have begun the entry before the freeze
		t.Errorf("its clock is ahead by %s when it goes on, want -1h", first.Lock)
	}
	gap := Gap{From: ops[frozen-1].Time, To: ops[frozen].Time, Late: ops[frozen].Time - ops[frozen-1].Time}
	if late := s.procs[0].lateness(gap); late > gap.Late-200*time.Millisecond {
		t.Errorf("of %v that it did nothing %v are its own, though it was frozen", gap.Late, late)
	}
}

func TestAFreezeBeforeTheStartIsInForceFromTheBeginning(t *testing.T) {
	s, err := open(t, "tick", 1, func(h *Host) {
		if err := h.Freeze(0); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Run(t.Context())
	time.Sleep(200 * time.Millisecond)
	if got := len(s.rec.Ops()); got > 0 {
		t.Errorf("%d entries of a process that was frozen before", got)
	}
	if err := s.Thaw(0); err != nil {
		t.Fatal(err)
	}
	s.ticks(t, 3)
	if gaps := s.procs[0].gaps; len(gaps) != 1 || gaps[0].To-gaps[0].From < 200*time.Millisecond {
		t.Errorf("gaps are %v, want the one in which it was frozen", gaps)
	}
}

// If a client that was to be frozen from the beginning cannot be frozen, no client begins.
func TestAFreezeBeforeTheStartThatFailsEndsTheStart(t *testing.T) {
	why := errors.New("nobody knows")
	awaitStopped = func(int) error { return why }
	defer func() { awaitStopped = child.AwaitStopped }()
	s, err := open(t, "tick", 1, func(h *Host) {
		if err := h.Freeze(0); err != nil {
			t.Error(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), why.Error()) {
		t.Errorf("got %v, want %v", err, why)
	}
	if d := new(Death); errors.As(err, &d) {
		t.Errorf("got %v, though the harness failed", d)
	}
	if got := len(s.rec.Ops()); got > 0 {
		t.Errorf("%d entries of a client that did not begin", got)
	}
}

// A freeze that fails is undone, since its caller has nothing to thaw.
func TestWhoCouldNotBeFrozenGoesOn(t *testing.T) {
	s := mustOpen(t, "tick", 1)
	go s.Run(t.Context())
	s.ticks(t, 3)
	why := errors.New("nobody knows")
	awaitStopped = func(int) error { return why }
	defer func() { awaitStopped = child.AwaitStopped }()
	if err := s.Freeze(0); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	s.ticks(t, len(s.rec.Ops())+3)
	awaitStopped = child.AwaitStopped
	if err := s.Freeze(0); err != nil {
		t.Fatal(err)
	}
	frozen := s.quiet(t)
	if err := s.Thaw(0); err != nil {
		t.Fatal(err)
	}
	s.ticks(t, frozen+3)
	for _, g := range s.procs[0].gaps {
		if g.To == 0 {
			t.Errorf("gaps are %v, want all closed", s.procs[0].gaps)
		}
	}
}

func TestWhoWasFrozenBeforeItWasStartedCanBeThawed(t *testing.T) {
	s := &stage{Host: NewHost(1, func() time.Duration { return 1 })}
	p := s.procs[0]
	if err := s.Freeze(0); err != nil {
		t.Fatal(err)
	}
	_, clock, err := newSkew()
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	if err := p.start([]string{"sleep", "600"}, clock); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer p.pipe.Close()
	if err := s.Thaw(0); err != nil || len(p.gaps) > 0 || p.frozen != 0 {
		t.Errorf("got %v, gaps %v, %d freezes; want none", err, p.gaps, p.frozen)
	}
}

// originOf ignores readings of the two clocks between which this process was not scheduled, as long as
// one pair of readings is undisturbed.
func TestTheOriginIsOfReadingsCloseTogether(t *testing.T) {
	const ahead = time.Hour // how far the machine's clock is ahead of the trial's
	rapid.Check(t, func(r *rapid.T) {
		var now time.Duration
		undisturbed := rapid.IntRange(0, originReadings-1).Draw(r, "undisturbed")
		reading := 0
		step := func() {
			if now++; reading/2 != undisturbed {
				now += time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(r, "preempted"))
			}
			reading++
		}
		calls := 0
		trial := func() time.Duration {
			if calls++; calls%2 == 0 {
				step() // a pause between the readings of the machine's clock and of the trial's clock
			}
			return now
		}
		origin, err := originOf(trial, func() (time.Duration, error) { step(); return now + ahead, nil })
		if err != nil || origin < ahead || origin > ahead+2 {
			r.Errorf("got %v, %v; want %v, and 2ns more at most", origin, err, ahead)
		}
	})
	why := errors.New("no clock")
	if _, err := originOf(func() time.Duration { return 0 }, func() (time.Duration, error) { return 0, why }); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

func TestBothSidesReadOneClock(t *testing.T) {
	s := mustOpen(t, "tick", 1)
	go s.Run(t.Context())
	var before time.Duration
	for _, op := range s.ticks(t, 10) {
		there := time.Duration(op.Seq)
		if there < before || there > op.Time {
			t.Errorf("the process reads %v, between the trial's %v and %v", there, before, op.Time)
		}
		before = there
	}
}

func TestAKilledProcessHasEnded(t *testing.T) {
	s := mustOpen(t, "tick", 2)
	ran := make(chan error, 1)
	go func() { ran <- s.Run(t.Context()) }()
	s.ticks(t, 3)
	if err := s.Freeze(0); err != nil { // a frozen process can still be killed
		t.Fatal(err)
	}
	for id := range 2 {
		if err := s.rec.Crash(id); err != nil {
			t.Fatal(err)
		}
		pid := s.procs[id].cmd.Process.Pid
		for range 2 {
			if err := s.Kill(id); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d: got %v, want it gone", pid, err)
		}
	}
	if err := errors.Join(<-ran, s.Died(), s.Freeze(0), s.Thaw(0)); err != nil {
		t.Error(err)
	}
}

func TestAConnectionPassesTheRelayBothWays(t *testing.T) {
	s := mustOpen(t, "echo", 1)
	err := s.Run(t.Context())
	if want := "client 0: as expected: dial tcp: connect: connection refused"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLongWorkCrossesThePipe(t *testing.T) {
	works.Store(0)
	if err := mustOpen(t, "work", 1).Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestASealedClientIsToldSo(t *testing.T) {
	s := mustOpen(t, "quiet", 1) // the client is started but does not run
	_ = s.Close()
	s = mustOpen(t, "seal", 1)
	if err := s.rec.Crash(0); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWhoDiesUnaskedIsNamedWithItsLastWords(t *testing.T) {
	for scene, want := range map[string]Death{
		"exit":     {How: "exit status 3", Exited: true, Said: "last words\n"},
		"nonsense": {How: "exit status 1", Exited: true, Garbled: true},
		// Here net/rpc itself would read on until the pipe ends.
		"nonsense inside": {How: "exit status 1", Exited: true, Garbled: true},
	} {
		s := mustOpen(t, scene, 1)
		var d *Death
		if err := s.Run(t.Context()); !errors.As(err, &d) || d.How != want.How || !d.Exited || d.Garbled != want.Garbled || !strings.HasPrefix(d.Said, want.Said) {
			t.Errorf("%s: got %+v, want %+v", scene, d, want)
		}
		if err := s.Died(); err == nil {
			t.Errorf("%s: nobody has died in the end", scene)
		}
	}
	s := mustOpen(t, "quiet", 1)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = s.procs[0].cmd.Process.Kill() // after its session has ended
	<-s.procs[0].exited
	if err := s.Died(); err == nil || err.Error() != "the process of client 0 died: signal: killed" {
		t.Errorf("got %v", err)
	}
}

func TestAClientsFailureEndsTheRun(t *testing.T) {
	s := mustOpen(t, "broken", 2)
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), ": panic: boom") {
		t.Errorf("got %v", err)
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	s := mustOpen(t, "tick", 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if err := s.Run(ctx); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

func TestJoinIsForClientProcesses(t *testing.T) {
	if _, err := Join(t.Context()); !errors.Is(err, ErrNoTrial) {
		t.Errorf("got %v, want %v", err, ErrNoTrial)
	}
}
