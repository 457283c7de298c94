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
func (h *hold) within(do func() error) (err error) {
	h.held = append(h.held, h)
	h.watchLoss()
	defer func() {
		if werr := h.endWatch(); err == nil {
			err = werr
		}
		if h.hung {
			h.watchLoss()
		}
		h.held = h.held[:len(h.held)-1]
	}()
	return do()
}

// watchLoss starts a watch that records the loss of h's lease. The watch runs until endWatch is
// called or the client's context ends. There is no watch if the lock never reports a loss, or if
// the client ignores such reports or knows of the loss already.
func (h *hold) watchLoss() {
	lost := h.lostC()
	if lost == nil {
		return
	}
	ctx, stop := context.WithCancel(h.ctx)
	w := &lossWatch{stop: stop, noticed: make(chan struct{}), ended: make(chan struct{})}
	h.watch = w
	turn := time.Duration(len(h.held))
	if h.hung {
		turn--
	}
	h.watches.Go(func() {
		defer close(w.ended)
		select {
		case <-lost:
		case <-ctx.Done():
			return
		}
		// A holder that can act at this instant goes first, unless the holder hangs: the holder may
		// be about to notice the loss, or to release. If several leases are lost at one instant,
		// their losses are recorded in the order of the holds, the outermost first.
		if h.client.Awake(ctx) == nil && testbed.Sleep(ctx, turn) == nil {
			w.err = h.notice(w)
		}
	})
}

// notice records the loss for the watch of h, unless the client knows of it already. A lease whose
// deadline has passed is already over for its client: the client sees this at its next look, unless
// it extends the lease first. A client that hangs never looks, so notice records its loss.
func (h *hold) notice(w *lossWatch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost || !h.hung && h.expired(h.lease) {
		return nil
	}
	close(w.noticed)
	_, err := h.Rec.Event(h.op(history.FLost))
	return err
}

// endWatch ends the watch of h's lease, if it has one.
func (h *hold) endWatch() error {
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
func (h *hold) lostC() <-chan struct{} {
	if h.Opts.Trusting || h.isLost() {
		return nil
	}
	return h.lease.Lost()
}

// told records the reported loss of the lease as soon as the client can notice it: not while the
// client is frozen.
func (h *hold) told() error {
	if err := h.client.Awake(h.ctx); err != nil {
		return err
	}
	return h.lose()
}

// lose records that the holder knows of the end of its lease, once for each hold.
func (h *hold) lose() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isLost() {
		return nil
	}
	h.lost = true
	_, err := h.Rec.Event(h.op(history.FLost))
	return err
}
