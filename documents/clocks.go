package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// clocks measures whether D1's allowance of one second in the stored time (recipe getset) is enough for
// clients whose clocks disagree.
var clocks = Experiment{
	ID:   "clock-allowance",
	Asks: "How far may clients' clocks disagree under getset?",
	How: "Three clients take the lock in turn for 60 s, with a lease of 1 s; every critical section lasts 0.95 leases. The wall clock of one client is ahead by the first column. " +
		"*Taken over*: acquisitions that came while another was in, well within its lease.",
	run: runClocks,
}

func runClocks(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"one clock ahead by", "acquisitions", "taken over"}
	getset, err := recipe("getset")
	if err != nil {
		return result, err
	}
	stolen := map[time.Duration]string{}
	for _, ahead := range []time.Duration{0, 500 * time.Millisecond, time.Second, 1100 * time.Millisecond, 1500 * time.Millisecond, 2 * time.Second, time.Minute} {
		used, err := l.use(ctx, users{
			recipe: getset, clients: 3, seed: l.seed, ttl: time.Second, work: 950 * time.Millisecond,
			rest: 50 * time.Millisecond, retry: 20 * time.Millisecond, lasts: time.Minute,
			meanwhile: func(_ context.Context, env testbed.Env) error {
				c, ok := env.(testbed.Clocks)
				if !ok {
					return errors.New("the testbed cannot skew clocks")
				}
				c.Skew(1, ahead)
				return nil
			},
		})
		if err != nil {
			return result, err
		}
		stolen[ahead] = fmt.Sprintf("%d of %d", used.overlaps(), len(used.grants))
		result.row(milli(ahead), len(used.grants), used.overlaps())
	}
	result.says("allowance", "One clock ahead by 1 s: %s acquisitions were taken over within the lease; by 1.1 s: %s; by 1.5 s: %s; by a minute: %s.",
		stolen[time.Second], stolen[1100*time.Millisecond], stolen[1500*time.Millisecond], stolen[time.Minute])
	return result, nil
}
