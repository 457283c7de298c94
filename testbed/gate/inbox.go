package gate

import (
	"sync"
	"time"
)

// inbox holds what the client may read from a connection. mu, which is Gate.mu, guards it.
type inbox struct {
	mu       *sync.Mutex
	in       []byte // replies that the client may read
	read     int    // number of leading bytes of in that the client has read
	inErr    error  // why no more replies will come; nil if they may
	readBy   deadline
	readers  int           // number of goroutines that wait in Read
	readable chan struct{} // wakes one goroutine that waits in Read
	alarm    *time.Timer   // calls signal at alarmAt; nil at first
	alarmAt  time.Time     // zero = not set
}

// signal wakes one goroutine that waits in Read, if any. mu is held.
func (b *inbox) signal() {
	if b.readers == 0 {
		return
	}
	select {
	case b.readable <- struct{}{}:
	default: // one wake-up is pending already
	}
}

// awaitReply waits for signal or the deadline; it may return too early. mu is held on entry
// and return.
func (b *inbox) awaitReply(by time.Time) {
	// Keep an alarm that an earlier read set for an earlier time: one needless wake-up
	// costs less than setting the alarm for every command.
	if !by.IsZero() && (b.alarmAt.IsZero() || by.Before(b.alarmAt)) {
		b.alarmAt = by
		if b.alarm == nil {
			b.alarm = time.AfterFunc(time.Until(by), b.ring)
		} else {
			b.alarm.Reset(time.Until(by))
		}
	}
	b.readers++
	b.mu.Unlock()
	<-b.readable
	b.mu.Lock()
	b.readers--
}

func (b *inbox) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alarmAt = time.Time{}
	b.signal()
}
