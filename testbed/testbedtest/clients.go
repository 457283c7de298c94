package testbedtest

import (
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

var clients = []promise{
	{name: "a crashed client's commands in flight stay", test: crashes},
	{name: "a paused client goes on as if nothing had happened", test: pausedClient},
	{name: "a client's clock is skewed", test: skews},
	{name: "a client whose work is slow or hangs is alive", test: longWork},
}

func crashes(s suite) {
	commands := s.run(brief, func(w *testEnv) {
		w.step(0, "acquire")
		w.At(testbed.Point{Step: "acquire", N: 1, When: testbed.Sent}, func(testbed.Hit) {
			if err := w.CrashClient(0); err != nil {
				w.Error(err)
			}
		})
		w.mustNotSet(0, "k", "by a crashed client")
		w.mustNotSet(0, "later", "after the crash")
		w.await("n0", "k", "1")
		if err := w.Client(0).Step(w.ctx, "hold"); !errors.Is(err, testbed.ErrCrashed) {
			w.Errorf("Step: got %v, want %v", err, testbed.ErrCrashed)
		}
		if err := w.Client(0).Awake(w.ctx); !errors.Is(err, testbed.ErrCrashed) {
			w.Errorf("Awake: got %v, want %v", err, testbed.ErrCrashed)
		}
	})
	if got := named(commands, "SET"); len(got) != 1 || !got[0].Ran() || got[0].Replied > 0 {
		s.Errorf("got %+v, want the one that was in flight, run and not answered", got)
	}
}

func pausedClient(s suite) {
	commands := s.run(brief, func(w *testEnv) {
		w.step(0, "acquire")
		paused := make(chan fault, 1)
		w.At(testbed.Point{Step: "acquire", N: 1, When: testbed.Sent}, func(testbed.Hit) {
			paused <- w.pauseClient(0)
		})
		if err := w.Client(0).Awake(w.ctx); err != nil {
			w.Errorf("Awake before the pause: got %v", err)
		}
		got := w.background("k")
		pause := <-paused
		noticed := make(chan error, 1)
		go func() { noticed <- w.Client(0).Awake(w.ctx) }()
		w.await("n0", "k", "1")
		time.Sleep(2 * hasty)
		select {
		case err := <-got:
			w.Errorf("during the pause: got %v", err)
		case err := <-noticed:
			w.Errorf("Awake during the pause: got %v", err)
		default:
		}
		if hits := pause.lift(); hits == 0 {
			w.Error("undo: got no hits")
		}
		if err := <-got; err != nil {
			w.Errorf("after a pause longer than the timeout: %v", err)
		}
		if err := <-noticed; err != nil {
			w.Errorf("Awake after the pause: %v", err)
		}
	})
	if c := named(commands, "SET")[0]; c.Replied-c.Served < hasty {
		s.Errorf("replied %v after it was served, want the pause", c.Replied-c.Served)
	}
}

func skews(s suite) {
	s.run(single, func(w *testEnv) {
		for _, offset := range []time.Duration{time.Hour, -time.Hour, 0} {
			w.Skew(0, offset)
			ahead := w.Client(0).Locks().Now().Sub(w.Client(1).Locks().Now())
			if got := ahead.Round(time.Minute); got != offset {
				w.Errorf("c0 is ahead of c1 by %v, want %v", got, offset)
			}
		}
	})
}

func longWork(s suite) {
	s.run(single, func(w *testEnv) {
		c := w.Client(0)
		idle := func(when string) {
			if done, err := c.Work(w.ctx); done != nil || err != nil {
				w.Errorf("work %s: got a channel %t, %v, want neither", when, done != nil, err)
			}
		}
		idle("without a fault")
		w.step(0, "hold")
		undo, err := w.SlowWork(0)
		w.must(err)
		done, err := c.Work(w.ctx)
		w.must(err)
		w.mustSet(0, "k", "a slow client is alive")
		select {
		case <-done:
			w.Error("the work is done during the fault")
		default:
		}
		fault{w, undo, nil}.liftAfter(1)
		<-done
		idle("after the fault")

		undo, err = w.HangWork(0, func() error { return nil })
		w.must(err)
		fault{w, undo, nil}.liftAfter(0)
		idle("of a client that was spared")

		told := 0
		undo, err = w.HangWork(0, func() error { told++; return nil })
		w.must(err)
		if done, err := c.Work(w.ctx); done != nil || !errors.Is(err, testbed.ErrHung) || told != 1 {
			w.Errorf("hung work: got a channel %t, %v, told %d times, want %v, told once", done != nil, err, told, testbed.ErrHung)
		}
		w.mustSet(0, "k", "a client that hangs is alive")
		fault{w, undo, nil}.liftAfter(1)
	})
}
