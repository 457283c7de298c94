package campaign

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// A heartbeat watches the harness itself. Were it not scheduled for some
// milliseconds, the order of what it recorded meanwhile would be its own doing.
const (
	heartbeatEvery = 5 * time.Millisecond
	heartbeatLate  = 5 * time.Millisecond // below this, lateness is not worth an entry
)

// heartbeat records, until ctx ends, each new maximum of its own lateness as
// an FStall event. Only maxima, so that a busy machine is not made busier.
func heartbeat(ctx context.Context, rec *history.Recorder) error {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	worst, last := heartbeatLate, rec.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := rec.Now()
		late := now - last - heartbeatEvery
		last = now
		if late <= worst {
			continue
		}
		worst = late
		_, err := rec.Event(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall, Offset: late})
		if err != nil {
			return err
		}
	}
}
