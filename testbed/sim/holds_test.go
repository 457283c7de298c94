package sim

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// A link is held all the time, except at some instants, when the held packets are released. The
// number of events must grow with the number of packets, and not with the number of holds.
func TestWhatAHoldReleasesArrivesThoughAnotherHoldFollowsAtOnce(t *testing.T) {
	const (
		requests = 20
		holds    = 200
		lasts    = 20 * time.Millisecond
	)
	for _, direction := range []testbed.Direction{testbed.Upstream, testbed.Downstream, testbed.Both} {
		in(t, testbed.Setup{Seed: 1, CommandTimeout: time.Minute}, func(ctx context.Context, w *simulation) error {
			link := testbed.Link{From: "c0", To: "n0"}
			undo, err := w.Hold(ctx, link, direction)
			if err != nil {
				return err
			}
			before := spent(w)
			var asking sync.WaitGroup
			failed := make(chan error, requests)
			for i := range requests {
				asking.Go(func() { failed <- w.redis(0).Set(ctx, fmt.Sprint("k", i), 1, 0).Err() })
				time.Sleep(10*time.Microsecond + time.Nanosecond)
			}
			for range holds {
				time.Sleep(lasts)
				if _, err := undo(ctx); err != nil {
					return err
				}
				if undo, err = w.Hold(ctx, link, direction); err != nil {
					return err
				}
			}
			answered := len(failed)
			if _, err := undo(ctx); err != nil {
				return err
			}
			asking.Wait()
			close(failed)
			for err := range failed {
				if err != nil {
					return err
				}
			}
			if err := want(string(direction)+": answered between the holds", answered, requests); err != nil {
				return err
			}
			if cost := spent(w) - before; cost > 100*requests {
				return fmt.Errorf("%s: %d requests cost %d events", direction, requests, cost)
			}
			return nil
		})
	}
}

// spent returns how many events the simulation has executed.
func spent(w *simulation) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events
}

// Three holds overlap. One of them releases a packet while another still holds an earlier packet.
// The released packet must wait in that other hold, without causing events.
func TestAPacketThatIsReleasedTooEarlyWaitsInAHold(t *testing.T) {
	in(t, testbed.Setup{Seed: 1}, func(_ context.Context, w *simulation) error {
		w.mu.Lock()
		y := w.newPipe(func(*packet) {})
		c := &conn{link: &link{sim: w, up: y}, number: 1}
		var arrived []uint64
		y.deliver = func(p *packet) { arrived = append(arrived, p.seq) }
		early, late := &packet{pipe: y, conn: c, seq: 0}, &packet{pipe: y, conn: c, seq: 1}
		lift := y.block(&block{})
		y.arrive(late)
		lift()
		hold := y.block(&block{})
		early.freed = y.placed // as if a third hold had released the packet
		y.arrive(early)
		before := w.events
		w.mu.Unlock()
		time.Sleep(time.Second)
		w.mu.Lock()
		cost := w.events - before
		hold()
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		w.mu.Lock()
		defer w.mu.Unlock()
		if cost > 10 {
			return fmt.Errorf("a packet that waits for a second costs %d events", cost)
		}
		return want("arrived", fmt.Sprint(arrived), "[0 1]")
	})
}
