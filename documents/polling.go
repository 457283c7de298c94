package documents

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/testbed"
)

// polling measures D1's warning that a badly chosen polling interval overloads Redis.
var polling = Experiment{
	ID:   "polling",
	Asks: "What does the interval of polling cost Redis, and what does it give the clients?",
	How: "Clients take one lock (set-nx-px) in turn for 20 ms each, and poll while it is busy. *Wait*: from the first attempt to the grant. " +
		"The simulation's node answers any number of commands at once; `--testbed process` adds how much of one processor redis-server used.",
	Real: true,
	OnRedis: "Two runs of `lockstorm answer polling --testbed process` (redis-server 7.0.15, 2 cores that others used too): 32 clients that polled every 1 ms sent 9,606 and 9,783 commands a second and took 18 and 24 % of a processor from redis-server, for 44 and 44.5 acquisitions a second; " +
		"every 100 ms, 386 and 389 commands, 2 and 3 %, and 44 acquisitions. The clients' own machine was the narrower place: in the simulation they send 2.5 times as much.",
	run: runPolling,
}

func runPolling(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"clients", "interval", "commands a second", "attempts for one acquisition", "acquisitions a second", "wait (median, 95 %)"}
	if l.real() {
		result.Columns = append(result.Columns, "redis-server's processor")
	}
	r, err := recipe("set-nx-px")
	if err != nil {
		return result, err
	}
	lasts := 2 * time.Second
	rates, served := map[string]float64{}, map[string]float64{}
	for _, clients := range []int{2, 8, 32} {
		for _, interval := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			cpu := 0.0
			u := users{
				recipe: r, clients: clients, seed: l.seed, ttl: 10 * time.Second,
				work: 20 * time.Millisecond, rest: time.Millisecond, retry: interval, lasts: lasts,
			}
			if l.real() {
				u.meanwhile = func(ctx context.Context, env testbed.Env) (err error) {
					cpu, err = processor(ctx, env, lasts)
					return err
				}
			}
			used, err := l.use(ctx, u)
			if err != nil {
				return result, err
			}
			waits := append(used.waits(), used.inVain...)
			key := fmt.Sprint(clients, " ", interval)
			rates[key], served[key] = perSecond(used.ran(), lasts), perSecond(len(used.grants), lasts)
			cells := []any{
				clients, milli(interval), fmt.Sprintf("%.0f", rates[key]), fmt.Sprintf("%.1f", float64(used.attempts)/float64(max(1, len(used.grants)))),
				served[key], milli(quantile(waits, 0.5)) + ", " + milli(quantile(waits, 0.95)),
			}
			if l.real() {
				cells = append(cells, fmt.Sprintf("%.0f %%", 100*cpu))
			}
			result.row(cells...)
		}
	}
	result.says("load", "32 clients that poll every 1 ms send %.0f commands a second for %.1f acquisitions; every 100 ms, %.0f for %.1f.",
		rates["32 1ms"], served["32 1ms"], rates["32 100ms"], served["32 100ms"])
	result.says("linear", "The load grows with the number of clients and falls with the interval, while acquisitions hardly change: two clients at 1 ms send %.0f commands a second.", rates["2 1ms"])
	return result, nil
}

// processor returns the share of one processor that the node's server uses during the given time.
func processor(ctx context.Context, env testbed.Env, during time.Duration) (float64, error) {
	node := env.Client(0).Locks().Nodes[0]
	used := func() (sum float64, err error) {
		info, err := node.Info(ctx, "cpu").Result()
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_sys" || name == "used_cpu_user" {
				seconds, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return 0, fmt.Errorf("INFO cpu: %w", err)
				}
				sum += seconds
			}
		}
		return sum, err
	}
	before, err := used()
	if err != nil {
		return 0, err
	}
	if err := sleep.For(ctx, during); err != nil {
		return 0, err
	}
	after, err := used()
	return (after - before) / during.Seconds(), err
}
