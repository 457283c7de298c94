package documents

import (
	"context"
	"fmt"
	"time"
)

// oneScript measures D1's second reason for a script: without a script, acquiring the lock takes at
// least two round trips.
var oneScript = Experiment{
	ID:   "one-script",
	Asks: "How much faster is one script than two commands?",
	How: "First one client alone takes the lock again and again without pause; then eight clients compete for it, with work of 1 ms and an attempt every millisecond. " +
		"A round trip in the simulation takes 0.1 to 0.4 ms, and a script costs the node no time; `--testbed process` measures real servers, behind a proxy.",
	Real: true,
	OnRedis: "Three runs of `lockstorm answer one-script --testbed process` (redis-server 7.0.15, 2 cores that others used too): a free lock took 0.19, 0.19 and 0.28 ms by SETNX and EXPIRE, and 0.12 ms each time by the script; " +
		"alone, a client got it 1,888 to 2,315 and 2,581 to 2,722 times a second. With 8 clients that wait for each other the two are alike: 402 to 436 and 414 to 430.",
	run: runOneScript,
}

func runOneScript(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"recipe", "commands of one turn", "acquire takes (median, 95 %)", "acquisitions a second, alone", "with 8 clients"}
	turns := map[string]string{}
	alone, median := map[string]float64{}, map[string]time.Duration{}
	lasts := 4 * time.Second
	for _, id := range []string{"setnx-expire", "getset", "lua-setnx-expire", "set-nx-ex"} {
		r, err := recipe(id)
		if err != nil {
			return result, err
		}
		u := users{recipe: r, clients: 1, seed: l.seed, ttl: 10 * time.Second, retry: time.Millisecond, lasts: lasts}
		one, err := l.use(ctx, u)
		if err != nil {
			return result, err
		}
		u.clients, u.work, u.rest = 8, time.Millisecond, time.Millisecond
		many, err := l.use(ctx, u)
		if err != nil {
			return result, err
		}
		waits := one.waits()
		alone[id], median[id] = perSecond(len(one.grants), lasts), quantile(waits, 0.5)
		turns[id] = fmt.Sprintf("%.0f", float64(one.ran())/float64(max(1, len(one.grants))))
		result.row(id, turns[id],
			milli(median[id])+", "+milli(quantile(waits, 0.95)), alone[id], perSecond(len(many.grants), lasts))
	}
	result.says("commands", "A turn of a client alone, release included, takes %s commands with SETNX and EXPIRE and %s with the script.", turns["setnx-expire"], turns["lua-setnx-expire"])
	two, script := median["setnx-expire"], median["lua-setnx-expire"]
	result.says("faster", "A free lock takes %s by two commands and %s by one script (the median), %.0f %% less; alone, a client gets it %.0f and %.0f times a second.",
		milli(two), milli(script), 100*(1-float64(script)/float64(two)), alone["setnx-expire"], alone["lua-setnx-expire"])
	return result, nil
}
