package trial

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// A heartbeat watches the harness itself. If the harness is not scheduled for some milliseconds,
// the order of the entries that it then records is an artefact.
const (
	heartbeatEvery = 5 * time.Millisecond
	heartbeatLate  = 5 * time.Millisecond // smaller lateness is not recorded
)

// heartbeat records, until ctx ends, each new maximum of its own lateness as an FStall
// event. It records only maxima, to add little load to a busy machine. A last check when ctx ends
// catches a stall that is still unnoticed.
func heartbeat(ctx context.Context, rec *history.Recorder) error {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	worst, last := heartbeatLate, rec.Now()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-tick.C:
		}
		now := rec.Now()
		late := now - last - heartbeatEvery
		if last = now; late <= worst {
			continue
		}
		if err := recordStall(rec, late); err != nil {
			return err
		}
		worst = late
	}
	return nil
}

func recordStall(rec *history.Recorder, late time.Duration) error {
	_, err := rec.Event(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall, Offset: late})
	return err
}
