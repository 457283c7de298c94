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
// event. It records only maxima, to add little load to a busy machine.
func heartbeat(ctx context.Context, rec *history.Recorder) error {
	return beat(ctx, rec.Now, func(_, _, late time.Duration) (time.Duration, error) {
		return late, recordStall(rec, late)
	})
}

func recordStall(rec *history.Recorder, late time.Duration) error {
	_, err := rec.Event(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall, Offset: late})
	return err
}

// beat measures, until ctx ends, how late its ticks come. For each new maximum, it calls stalled
// with the times of the last two ticks and the lateness; stalled returns the new maximum. A last
// check when ctx ends catches a stall that is still unnoticed.
func beat(ctx context.Context, clock func() time.Duration, stalled func(from, to, late time.Duration) (time.Duration, error)) error {
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	worst, last := heartbeatLate, clock()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-tick.C:
		}
		now := clock()
		late, before := now-last-heartbeatEvery, last
		last = now
		if late <= worst {
			continue
		}
		longest, err := stalled(before, now, late)
		if err != nil {
			return err
		}
		worst = longest
	}
	return nil
}
