package testbedtest

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// moments holds the promises that events of a node are reported at the moment at which they
// happen. The tests send commands all the time. Each command must run either before the event
// and the report, or after both.
var moments = []promise{
	{name: "nothing runs after a node is told to be down", test: toldKill, needs: testbed.CanNodes},
	{name: "nothing runs between an eviction and the word of it", test: toldEviction, needs: testbed.CanMemory},
	{name: "nothing runs between the word of a jump and the jump", test: toldJump, needs: testbed.CanNodeClocks},
}

// hammered is a key that clients increment all the time.
const hammered = "hammered"

// hammer calls strike, which injects a fault into n0, while clients increment the key. It returns the
// increments that ran, in the order of execution, and the time at which strike called its argument, the
// function told.
func (s suite) hammer(strike func(w *testEnv, told func() error) error) (ran []history.Command, told time.Duration) {
	const clients = 3
	calls := 0
	commands := s.run(testbed.Setup{Topology: testbed.Single, Clients: clients}, func(w *testEnv) {
		w.must(w.redis(0, 0).Set(w.ctx, hammered, "0", life).Err())
		stop := make(chan struct{})
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if w.redis(c, 0).Incr(w.ctx, hammered).Err() != nil {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		time.Sleep(hasty / 4)
		w.must(strike(w, func() error {
			told = w.Now()
			calls++
			return nil
		}))
		time.Sleep(hasty / 4)
		close(stop)
		all.Wait()
	})
	if calls != 1 {
		s.Fatalf("told %d times, want once", calls)
	}
	for _, c := range named(commands, "INCR") {
		if c.Exec > 0 {
			ran = append(ran, c)
		}
	}
	slices.SortFunc(ran, func(a, b history.Command) int { return cmp.Compare(a.Exec, b.Exec) })
	return ran, told
}

func toldKill(s suite) {
	ran, told := s.hammer(func(w *testEnv, told func() error) error { return w.Kill(w.ctx, "n0", told) })
	if len(ran) == 0 {
		s.Fatal("nothing ran")
	}
	for _, c := range ran {
		if c.Arrived > told || c.Served > told {
			s.Errorf("told at %v that the node is down: it ran %+v", told, c)
		}
	}
}

func toldEviction(s suite) {
	s.toldLoss(func(w *testEnv, told func() error) error {
		_, err := w.Env.(testbed.Memory).Evict(w.ctx, "n0", func([]history.KeyState) error { return told() })
		return err
	})
}

func toldJump(s suite) {
	s.toldLoss(func(w *testEnv, told func() error) error {
		_, err := w.NodeClocks().SkewNode(w.ctx, "n0", jump, told)
		return err
	})
}

// toldLoss checks a fault that loses the key. strike injects the fault, and calls told to report
// the loss. The node must have answered every increment of the lost key before that call. Every
// increment of the new key must arrive after the call.
func (s suite) toldLoss(strike func(w *testEnv, told func() error) error) {
	ran, told := s.hammer(strike)
	anew := 0
	for i, c := range ran {
		if c.Reply == "1" && i > 0 {
			anew = i
		}
	}
	if anew == 0 {
		s.Fatalf("%d commands ran, none without the key", len(ran))
	}
	for i, c := range ran {
		if i < anew && c.Served > told || i >= anew && c.Arrived < told {
			s.Errorf("told at %v of the loss: command %d of %d, the first without the key being %d, ran %+v", told, i, len(ran), anew, c)
		}
	}
}
