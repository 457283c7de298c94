package strangers

import (
	"context"
	"sync"
)

// watchdogs holds the watchdogs of one handle, by the token of the lease.
type watchdogs struct {
	mu      sync.Mutex
	byToken map[string]context.CancelFunc
}

func (k *watchdogs) add(token string, stop context.CancelFunc) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byToken[token] = stop
}

// stop ends the watchdog of the lease, if it has one.
func (k *watchdogs) stop(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stop := k.byToken[token]; stop != nil {
		stop()
		delete(k.byToken, token)
	}
}
