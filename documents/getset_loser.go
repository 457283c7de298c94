package documents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// getsetLoser measures an error that D1 calls very small and negligible: several clients try to take
// over a dead holder's key, and the GETSET of a loser overwrites the time that the winner set.
var getsetLoser = Experiment{
	ID:   "getset-loser",
	Asks: "How much does a loser's GETSET change?",
	How: "A client dies between SETNX and EXPIRE. When the time that it left is about to pass, rivals begin to poll every 2 ms, with a lease of 1 s. " +
		"In the last rows one rival pauses for 20 ms just before its GETSET. *Contested*: a second client sent GETSET in the same takeover. *Moved*: by how much its time differs from the winner's, which it replaced. " +
		"*Life cleared*: the winner was in and its key had no TTL any more, since GETSET drops it. " +
		"*No owner*: the GETSET came when the winner had left, and made a key that belongs to nobody and has no TTL; *shut*: how long nobody got in then.",
	run: runGetsetLoser,
}

// loserTrials is the number of trials per row, each with its own seed.
const loserTrials = 60

const (
	loserLease    = time.Second
	loserInterval = 2 * time.Millisecond
	loserMargin   = time.Second // D1's allowance in the stored time
)

// contest is the setting of a takeover, a row of the experiment's table.
type contest struct {
	rivals int           // number of clients that try to take the key over
	work   time.Duration // time that each winner works
	pause  time.Duration // pause of the first rival before its GETSET
}

var contests = []contest{
	{2, 20 * time.Millisecond, 0},
	{4, 20 * time.Millisecond, 0},
	{8, 20 * time.Millisecond, 0},
	{4, 40 * time.Millisecond, 20 * time.Millisecond},
	{4, 5 * time.Millisecond, 20 * time.Millisecond},
}

// takeover is the outcome of the rivals' takeover of a dead client's key in one trial.
type takeover struct {
	moved     []int64       // for each loser, how many milliseconds its time differs from the winner's
	cleared   bool          // a loser's GETSET removed the TTL of the winner's key
	ownerless bool          // a GETSET came after the winner had left and made a key without owner and TTL
	shut      time.Duration // how long the ownerless key kept everybody out, at most
	winners   int           // number of clients that replaced the dead client's time
}

// takeovers sums up the takeovers of several trials. two counts the trials with more than one winner.
type takeovers struct {
	moved                                      []int64
	trials, contested, cleared, ownerless, two int
	shut                                       time.Duration
}

func (s *takeovers) add(t takeover) {
	s.moved = append(s.moved, t.moved...)
	s.trials++
	s.contested += count(len(t.moved) > 0 || t.ownerless)
	s.cleared += count(t.cleared)
	s.ownerless += count(t.ownerless)
	s.two += count(t.winners > 1)
	s.shut = max(s.shut, t.shut)
}

func runGetsetLoser(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"rivals", "work of the winner", "a rival pauses for", "trials", "contested", "moved by (median, most)", "life cleared", "no owner", "shut for (most)"}
	var calm, paused takeovers
	for _, c := range contests {
		var row takeovers
		for n := range uint64(loserTrials) {
			t, err := l.takeover(ctx, c, l.seed<<16+n)
			if err != nil {
				return result, err
			}
			row.add(t)
			if c.pause > 0 {
				paused.add(t)
			} else {
				calm.add(t)
			}
		}
		result.row(c.rivals, milli(c.work), milli(c.pause), row.trials, row.contested,
			fmt.Sprintf("%d ms, %d ms", quantile(row.moved, 0.5), quantile(row.moved, 1)), row.cleared, row.ownerless, milli(row.shut))
	}
	result.says("moved", "The time moves by little: by %d ms at most, in %d contested takeovers of %d.",
		max(quantile(calm.moved, 1), quantile(paused.moved, 1)), calm.contested+paused.contested, calm.trials+paused.trials)
	result.says("winners", "In %d of %d trials two clients replaced the dead one's time and got in.", calm.two+paused.two, calm.trials+paused.trials)
	result.says("cleared", "But GETSET drops the TTL too: in %d of %d contested takeovers the winner's key had none any more, and in %d of %d if a rival paused for 20 ms before its GETSET. Then only the clients' clocks end that lease.",
		calm.cleared, calm.contested, paused.cleared, paused.contested)
	result.says("ownerless", "In %d of %d with such a pause the GETSET came after the winner had left and made a key that belongs to nobody and has no TTL: nobody got in for up to %s, although nobody held the lock.",
		paused.ownerless, paused.contested, milli(paused.shut))
	return result, nil
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// milli writes a duration in milliseconds, or in seconds if it is at least one second.
func milli(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
}

// takeover runs one trial: client 0 dies between SETNX and EXPIRE, and the others want its lock.
func (l lab) takeover(ctx context.Context, c contest, seed uint64) (takeover, error) {
	getset, err := recipe("getset")
	if err != nil {
		return takeover{}, err
	}
	w, err := l.world(ctx, testbed.Setup{Topology: testbed.Single, Clients: 1 + c.rivals, Seed: seed}, func(ctx context.Context, env testbed.Env) error {
		if err := dieBehindTheFirstCommand(ctx, env, getset, loserLease); err != nil {
			return err
		}
		if err := sleep.For(ctx, loserLease+loserMargin-2*loserInterval); err != nil {
			return err
		}
		until := env.Now() + 2*(loserLease+loserMargin)
		// GETSET is the third command of an attempt, after SETNX and GET.
		cancel := env.At(testbed.Point{Client: 1, Step: testbed.StepAcquire, Node: "n0", N: 3, When: testbed.Before}, func(testbed.Hit) { time.Sleep(c.pause) })
		defer cancel()
		var all []func(context.Context) error
		for i := 1; i <= c.rivals; i++ {
			all = append(all, func(ctx context.Context) error { return rival(ctx, env, i, getset, c.work, seed, until) })
		}
		return side(ctx, all...)
	})
	if err != nil {
		return takeover{}, err
	}
	return readTakeover(w), nil
}

// dieBehindTheFirstCommand lets client 0 try to acquire the lock and die at the reply to its first
// command.
func dieBehindTheFirstCommand(ctx context.Context, env testbed.Env, r locks.Recipe, ttl time.Duration) error {
	clients, ok := env.(testbed.Clients)
	if !ok {
		return errors.New("the testbed cannot crash clients")
	}
	c := env.Client(0)
	cancel := env.At(testbed.Point{Client: 0, Step: testbed.StepAcquire, Node: "n0", N: 1, When: testbed.Replied}, func(testbed.Hit) {
		_ = clients.CrashClient(0) // cannot fail: the client exists and is alive
	})
	defer cancel()
	lock, err := handle(r, c, ttl)
	if err != nil {
		return err
	}
	if err := c.Step(ctx, testbed.StepAcquire); err != nil {
		return err
	}
	if _, err := lock.TryLock(ctx); err == nil {
		return errors.New("the client that was to die behind its first command acquired the lock")
	}
	return nil
}

// rival makes client i poll for the lock as D1 does. It returns when the client has held the lock
// once. After the instant until, it begins no further attempt.
func rival(ctx context.Context, env testbed.Env, i int, getset locks.Recipe, work time.Duration, seed uint64, until time.Duration) error {
	c := env.Client(i)
	lock, err := handle(getset, c, loserLease)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	if err := sleep.For(ctx, about(loserInterval, r)); err != nil {
		return err
	}
	for env.Now() < until {
		if err := c.Step(ctx, testbed.StepAcquire); err != nil {
			return err
		}
		lease, err := lock.TryLock(ctx)
		if err == nil {
			if err := sleep.For(ctx, work); err != nil {
				return err
			}
			return lock.Unlock(ctx, lease)
		}
		if err := sleep.For(ctx, loserInterval); err != nil {
			return err
		}
	}
	return nil
}

// readTakeover finds the losers' GETSETs among the commands, and their effects.
func readTakeover(w wire) (t takeover) {
	ran := slices.DeleteFunc(slices.Clone(w.commands), func(c history.Command) bool { return c.N == 0 || c.Exec == 0 })
	slices.SortFunc(ran, func(a, b history.Command) int { return a.Exec - b.Exec })
	// winner is the time that the latest winner set. before is the dead client's time, which the
	// first winner replaced.
	winner, before := "", ""
	for i, c := range ran {
		switch {
		case !is(c, "GETSET"):
		case wins(ran[i:]):
			if winner == "" || string(c.Reply) == before {
				t.winners++
				before = string(c.Reply)
			}
			winner = string(c.Args[2])
		case c.Reply == "nil": // nobody had the lock
			t.ownerless = true
			t.shut = max(t.shut, shutFor(ran[i:]))
		default:
			moved := storedTime(string(c.Args[2])) - storedTime(winner)
			t.moved = append(t.moved, max(moved, -moved))
			was := changeBy(w.keys, c.Exec).Before // nil if GETSET changed nothing: same time, and already no TTL
			t.cleared = t.cleared || was != nil && was.Expires > 0
		}
	}
	return t
}

func is(c history.Command, name string) bool { return strings.EqualFold(string(c.Args[0]), name) }

// wins reports whether the first command, a GETSET, won the takeover. If so, the client's next command
// is EXPIRE.
func wins(ran []history.Command) bool {
	for _, c := range ran[1:] {
		if c.Client == ran[0].Client {
			return is(c, "EXPIRE")
		}
	}
	return false
}

// changeBy returns the key change that the command with this Exec made; the zero value if it made
// none.
func changeBy(keys []history.KeyChange, exec int) history.KeyChange {
	for _, k := range keys {
		if k.Exec == exec && k.By == history.ByCommand {
			return k
		}
	}
	return history.KeyChange{}
}

// shutFor returns the time from the first command to the next EXPIRE, which a client of getset
// sends when it has the lock. Without an EXPIRE it returns the time to the last command.
func shutFor(ran []history.Command) time.Duration {
	for _, c := range ran[1:] {
		if is(c, "EXPIRE") {
			return c.Arrived - ran[0].Arrived
		}
	}
	return ran[len(ran)-1].Arrived - ran[0].Arrived
}

// storedTime decodes a time that D1 stores as 8 bytes, the most significant byte first.
func storedTime(value string) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64([]byte(value)))
}
