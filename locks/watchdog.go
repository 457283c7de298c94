package locks

import (
	"context"
	"io"
	"sync"
	"time"
)

// watchdog renews one lease in the background.
type watchdog struct {
	once sync.Once
	quit chan struct{} // closed by stop
	done chan struct{} // closed when the goroutine has ended
}

// startWatchdog calls renew at every interval, the first time after one interval. It ends at stop,
// when renew returns false, or when ctx ends. Pass the client process's context, never an acquiring
// call's: a lease outlives the call that took it. If a tick and the stop are both ready, as after a
// long renewal, tickWins decides which one counts (see renewEvery).
func startWatchdog(ctx context.Context, interval time.Duration, tickWins func() bool, renew func(context.Context) bool) *watchdog {
	w := &watchdog{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		renewEvery(ctx, interval, w.quit, tickWins, renew)
	}()
	return w
}

// watchdogs are the running watchdogs of one owner, by lock or by token.
type watchdogs struct {
	mu   sync.Mutex
	byID map[string]*watchdog
}

// ensure starts a watchdog, unless the one of this id may still renew.
func (w *watchdogs) ensure(id string, start func() *watchdog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[string]*watchdog{}
	}
	if dog := w.byID[id]; dog == nil || !dog.alive() {
		w.byID[id] = start()
	}
}

// stop stops the watchdog of this id, if there is one.
func (w *watchdogs) stop(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dog := w.byID[id]; dog != nil {
		dog.stop()
		delete(w.byID, id)
	}
}

// renewEvery calls renew at every interval, the first time after one interval. It ends when quit is
// closed, renew returns false or ctx ends. If both a tick and quit are ready, it renews once more if
// tickWins returns true. A plain select would choose at random, and no seed could repeat that choice.
func renewEvery(ctx context.Context, interval time.Duration, quit <-chan struct{}, tickWins func() bool, renew func(context.Context) bool) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ticked(ctx, ticker.C, quit, tickWins) && renew(ctx) {
	}
}

// ticked waits. It returns true after a tick, and false after the stop or ctx's end. If a tick and the
// stop are both ready, it returns tickWins().
func ticked(ctx context.Context, tick <-chan time.Time, quit <-chan struct{}, tickWins func() bool) bool {
	select {
	case <-ctx.Done():
		return false
	case <-quit:
		select {
		case <-tick:
			return tickWins()
		default:
			return false
		}
	case <-tick:
		select {
		case <-quit:
			return tickWins()
		default:
			return true
		}
	}
}

// never is the tickWins of a watchdog that does not renew after its stop.
func never() bool { return false }

// evenOdds returns the tickWins of D0's watchdogs. If a tick and the stop are both ready, D0's select
// chooses at random: one more renewal, or none. The returned function draws this choice from random,
// so that the trial's seed decides.
func evenOdds(random io.Reader) func() bool {
	return func() bool {
		var b [1]byte
		_, err := io.ReadFull(random, b[:])
		return err == nil && b[0]&1 == 1
	}
}

// stop prevents further renewals. As in the documents, it neither interrupts nor awaits a running
// renewal.
func (w *watchdog) stop() { w.once.Do(func() { close(w.quit) }) }

// alive reports whether the watchdog may still renew.
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

// sleep waits for d and returns true, or false if ctx ends first.
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

// renewalFailed returns the flaws that show when the watchdog ended or renewed too late, while the
// holder still believes that it has the lock. By chance the flaws also show under other faults:
//
//   - The client or a node freezes, or a node dies or is replaced, just when a renewal is due.
//   - A renewal's reply is lost.
//   - Connections are reset for longer than a lease, and the critical section outlasts the last
//     renewal.
func renewalFailed(kind Kind, why, source string, faults ...string) []Flaw {
	return may([]string{"partition-replies", "reset", "client-pause", "node-pause", "node-restart", "failover", "split-brain"},
		under(faults, "renewal-failed", kind, why, source, "exclusion", "resource"))
}
