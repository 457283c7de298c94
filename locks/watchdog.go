package locks

import (
	"context"
	"sync"
	"time"
)

// watchdog renews one lease in the background.
type watchdog struct {
	once sync.Once
	quit chan struct{} // closed by stop
	done chan struct{} // closed when the goroutine has ended
}

// startWatchdog calls renew at every interval, the first time after one
// interval, until stop, until renew returns false, or until ctx ends. The ctx is
// the client process's, never an acquiring call's: a lease outlives the call
// that took it.
func startWatchdog(ctx context.Context, interval time.Duration, renew func(context.Context) bool) *watchdog {
	w := &watchdog{quit: make(chan struct{}), done: make(chan struct{})}
	go w.run(ctx, interval, renew)
	return w
}

func (w *watchdog) run(ctx context.Context, interval time.Duration, renew func(context.Context) bool) {
	defer close(w.done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.quit:
			return
		case <-ticker.C:
		}
		// If a tick and the stop are ready, the stop wins: select would choose at
		// random.
		select {
		case <-w.quit:
			return
		default:
		}
		if !renew(ctx) {
			return
		}
	}
}

// stop prevents further renewals. A running one is neither interrupted nor awaited, as
// in the documents.
func (w *watchdog) stop() { w.once.Do(func() { close(w.quit) }) }

// alive says whether the watchdog may still renew.
func (w *watchdog) alive() bool {
	select {
	case <-w.done:
		return false
	case <-w.quit:
		return false
	default:
		return true
	}
}

// sleep waits for d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// renewalFailed: the watchdog ended, or came too late, while its holder goes on
// believing. Other causes are a node that freezes, dies or is replaced just when a
// renewal is due, or that renews but is not heard, and connections that are reset for
// longer than a lease, if the section outlasts the last renewal.
func renewalFailed(kind Kind, why, source string, faults ...string) []Flaw {
	return may([]string{"partition-replies", "reset", "client-pause", "node-pause", "node-restart", "failover", "split-brain"},
		under(faults, "renewal-failed", kind, why, source, "exclusion", "resource"))
}
