package workloads

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// A lock may report the loss of a lease at any time: while the holder works, but also while the
// holder waits for the answer to another call, for example for a second lock. Each hold therefore
// has a watch: it records the loss at the moment of the report, not when that call returns.

// lossWatch waits for the report that a lease is lost.
type lossWatch struct {
	stop    context.CancelFunc
	noticed chan struct{} // closed when the watch records the loss
	ended   chan struct{} // closed when the watch has ended
	err     error         // why the loss could not be recorded; valid after ended is closed
}

// within runs the client's work as the holder of h, from the grant to the release. Holds may be
// nested. If the client hangs in its work, its leases are watched until its context ends, because
// their watchdogs go on too.
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

// watchLoss starts a watch that records the loss of h's lease. The watch runs until endWatch is
// called or the client's context ends. There is no watch if the lock never reports a loss, or if
// the client ignores such reports or knows of the loss already.
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
		// A holder that can act at this instant goes first, unless the holder hangs: the holder may
		// be about to notice the loss, or to release. If several leases are lost at one instant,
		// their losses are recorded in the order of the holds, the outermost first.
		if s.client.Awake(ctx) == nil && testbed.Sleep(ctx, turn) == nil {
			w.err = s.notice(h, w)
		}
	})
}

// notice records the loss for the watch of h, unless the client knows of it already. A lease whose
// deadline has passed is already over for its client: the client sees this at its next look, unless
// it extends the lease first. A client that hangs never looks, so notice records its loss.
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

// lostC returns the channel that tells the client that the hold's lease is lost; nil if the lock never
// reports a loss, or if the client ignores such reports or knows of the loss already.
func (s *session) lostC(h *hold) <-chan struct{} {
	if s.Opts.Trusting || h.isLost() {
		return nil
	}
	return h.lease.Lost()
}

// told records the reported loss of the lease as soon as the client can notice it: not while the
// client is frozen.
func (s *session) told(h *hold) error {
	if err := s.client.Awake(s.ctx); err != nil {
		return err
	}
	return s.lose(h)
}

// lose records that the holder knows of the end of its lease, once for each hold.
func (s *session) lose(h *hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.isLost() {
		return nil
	}
	h.lost = true
	_, err := s.Rec.Event(s.op(history.FLost, *h))
	return err
}
