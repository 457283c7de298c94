package workloads

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/sleep"
)

// A lock reports the loss of a lease at any time: while its holder works, but also while the
// holder waits for the answer to another call, for example for a second lock. Each hold has a
// watch, so that the history has the loss at the moment of the report, and not when that call
// returns.

// lossWatch waits for the report that a lease is lost.
type lossWatch struct {
	stop    context.CancelFunc
	noticed chan struct{} // closed when the watch has recorded the loss
	ended   chan struct{} // closed when the watch has ended
	err     error         // why the loss could not be recorded; valid once the watch has ended
}

// within runs what a client does as the holder of h, from the grant to the release. Holds
// may be nested. Leases under which a client hangs in its work are watched until the client's
// context ends: their watchdogs go on, too.
func (s *session) within(h *hold, do func() error) (err error) {
	s.held = append(s.held, h)
	s.watchLoss(h)
	defer func() {
		if werr := s.endWatch(h); err == nil {
			err = werr
		}
		if s.hung {
			s.watchLoss(h)
		}
		s.held = s.held[:len(s.held)-1]
	}()
	return do()
}

// watchLoss records the loss of h's lease from now on, until endWatch is called or the client's
// context ends. There is no watch if the lock never reports a loss, or if nobody would notice.
func (s *session) watchLoss(h *hold) {
	lost := s.lostC(h)
	if lost == nil {
		return
	}
	ctx, stop := context.WithCancel(s.ctx)
	w := &lossWatch{stop: stop, noticed: make(chan struct{}), ended: make(chan struct{})}
	h.watch = w
	turn := time.Duration(len(s.held))
	if s.hung {
		turn--
	}
	s.watches.Go(func() {
		defer close(w.ended)
		select {
		case <-lost:
		case <-ctx.Done():
			return
		}
		// If the holder itself can act at this instant, it goes first, unless it hangs: it may
		// be about to notice the loss, or to release. Several losses of one instant are then
		// recorded in the order of the holds, the outermost first.
		if s.client.Awake(ctx) == nil && sleep.For(ctx, turn) == nil {
			w.err = s.notice(h, w)
		}
	})
}

// notice records a loss for the watch of h, unless the client knows of it. A deadline that
// has passed has ended the hold already: the client will see that at its next look, unless it
// hangs, or extends the lease first.
func (s *session) notice(h *hold, w *lossWatch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.lost || !s.hung && s.expired(h.lease) {
		return nil
	}
	close(w.noticed)
	_, err := s.Rec.Event(s.op(history.FLost, *h))
	return err
}

// endWatch ends the watch of h's lease, if it has one.
func (s *session) endWatch(h *hold) error {
	w := h.watch
	if w == nil {
		return nil
	}
	w.stop()
	<-w.ended
	h.lost, h.watch = h.isLost(), nil
	return w.err
}

// isLost reports whether the holder knows that its lease ended.
func (h *hold) isLost() bool {
	if h.lost || h.watch == nil {
		return h.lost
	}
	select {
	case <-h.watch.noticed:
		return true
	default:
		return false
	}
}

// lostC returns the channel that tells the client that the hold's lease is lost; nil if it
// trusts its lease, or knows already.
func (s *session) lostC(h *hold) <-chan struct{} {
	if s.Opts.Trusting || h.isLost() {
		return nil
	}
	return h.lease.Lost()
}

// told records that the lock reports the loss of the lease, as soon as the client can notice
// it: not while the client is frozen.
func (s *session) told(h *hold) error {
	if err := s.client.Awake(s.ctx); err != nil {
		return err
	}
	return s.lose(h)
}

// lose notes and records that the holder knows of the end of its lease, unless the watch has
// recorded the loss.
func (s *session) lose(h *hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.lost && h.isLost() {
		return nil
	}
	h.lost = true
	_, err := s.Rec.Event(s.op(history.FLost, *h))
	return err
}
