package live_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// differences are the only permitted differences between the tap's key changes and the
// simulation's. In these texts, "here" means real servers, and "there" means the simulation.
var differences = map[string]string{
	"nothing":   "SETRANGE of an empty text lengthens a value there; it is left out here",
	"instants":  "a value that is an instant of the client's clock differs, as the clocks of the two trials do",
	"renewals":  "a life that is renewed at once ends where it did if that was in one millisecond",
	"one look":  "lives that end in one millisecond are told by name here, and by their ends there",
	"Expires":   "an end of a life that is counted from a command is known here as well as the command's own time",
	"unordered": "changes on different nodes have one order there, and none here",
}

// within is a tolerance: how far a key's expiry on a real server may lie outside the expected
// bounds, which are the bounds of the command's time plus the TTL.
const within = 2 * time.Millisecond

// trial is a setup and a body that runs on both testbeds.
type trial struct {
	setup testbed.Setup
	body  func(context.Context, testbed.Env) error
	// instants: some values are instants of the client's clock.
	instants bool
}

// compare runs the trial on real servers and in the simulation, and checks that the changes of keys are
// equal, except for differences.
func compare(t *testing.T, tr trial) {
	t.Helper()
	real, err := process.New(process.Options{Temp: redistest.Memory(t)})
	if err != nil {
		t.Fatal("nothing to compare the simulation with: ", err)
	}
	want, got := play(t, sim.New(), tr), play(t, real, tr)
	for node := range want {
		if _, ok := got[node]; !ok && len(want[node]) > 0 {
			t.Errorf("%s: got no changes, want %d", node, len(want[node]))
		}
	}
	for node := range got { // on real servers, changes on different nodes have no order
		same(t, tr, got[node], want[node])
	}
}

// same checks that the changes on a real node equal those on its simulated counterpart.
func same(t *testing.T, tr trial, got, want []history.KeyChange) {
	t.Helper()
	got, want = unrenewed(got), unrenewed(want)
	sortEnds(got)
	sortEnds(want)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || line(tr, got[i]) != line(tr, want[i]) {
			t.Fatalf("change %d differs:\nreal\n%s\nsimulated\n%s", i, lines(tr, got, i), lines(tr, want, i))
		}
		if !sameEnd(got[i], want[i]) {
			t.Errorf("%s: its life ends at %v here, by a change from %v to %v, and at %v there, by one at %v",
				line(tr, got[i]), got[i].After.Expires, got[i].From, got[i].To, want[i].After.Expires, want[i].To)
		}
	}
}

// unrenewed removes renewals that move a key's expiry by less than absolute.
func unrenewed(changes []history.KeyChange) []history.KeyChange {
	return slices.DeleteFunc(changes, func(c history.KeyChange) bool {
		return c.By == history.ByCommand && c.Before.SameValue(c.After) && c.Before.Expires > 0 && c.After.Expires > 0 &&
			(c.After.Expires-c.Before.Expires).Abs() < absolute
	})
}

// sameEnd reports whether the key expires equally long after the change in got as in want.
func sameEnd(got, want history.KeyChange) bool {
	if got.After == nil || got.After.Expires == 0 || got.By != history.ByCommand || want.After.Same(want.Before) {
		return true
	}
	if got.Before != nil && got.Before.Expires == got.After.Expires {
		// The real renewal came so soon that the expiry stayed the same.
		return (want.Before.Expires - want.After.Expires).Abs() < absolute
	}
	life := want.After.Expires - want.To
	if life < 0 {
		return true // the clock was set
	}
	return got.After.Expires >= got.From+life-within-absolute && got.After.Expires <= got.To+life+within
}

// absolute bounds the time between computing an absolute expiry and the command that sets this
// expiry, on a busy machine.
const absolute = 200 * time.Millisecond

// sortEnds sorts successive expiries by key: one snapshot shows several expiries without their
// order.
func sortEnds(changes []history.KeyChange) {
	for i := 0; i < len(changes); i++ {
		j := i
		for j < len(changes) && changes[j].By == history.ByExpiry {
			j++
		}
		slices.SortFunc(changes[i:j], func(a, b history.KeyChange) int { return strings.Compare(string(a.Key), string(b.Key)) })
		i = max(i, j-1)
	}
}

func lines(tr trial, changes []history.KeyChange, at int) string {
	var all []string
	for i := max(0, at-5); i < min(len(changes), at+5); i++ {
		mark := "  "
		if i == at {
			mark = "> "
		}
		all = append(all, mark+line(tr, changes[i]))
	}
	return strings.Join(all, "\n")
}

// line returns a change in words, without times.
func line(tr trial, c history.KeyChange) string {
	return fmt.Sprintf("%s %s: %s: %s → %s", c.Node, c.Key, c.By, words(tr, c.Before), words(tr, c.After))
}

func words(tr trial, k *history.KeyContent) string {
	if k == nil {
		return "-"
	}
	text := k.Type + " " + string(k.Value)
	if tr.instants && len(k.Value) == 8 {
		text = "(an instant)"
	}
	for _, f := range k.Fields {
		text += fmt.Sprintf(" %s=%s", f.Name, f.Value)
	}
	for _, m := range k.Members {
		text += " " + string(m)
	}
	if k.Expires > 0 {
		text += " (mortal)"
	}
	if tr.instants {
		text = instant.ReplaceAllString(text, "(an instant)")
	}
	return text
}

// instant matches a wall clock's milliseconds in decimal. Values of eight bytes are instants, too.
var instant = regexp.MustCompile(`\d{12,13}`)

// play runs the trial and returns the changes of each node's keys.
func play(t *testing.T, tb testbed.Testbed, tr trial) map[string][]history.KeyChange {
	t.Helper()
	changes := map[string][]history.KeyChange{}
	var mu sync.Mutex
	s := tr.setup
	s.Seed, s.Clients, s.CommandTimeout, s.Clock = 1, 2, time.Minute, tb.Clock()
	s.Commands = func(history.Command) {}
	s.Keys = func(c history.KeyChange) {
		mu.Lock()
		defer mu.Unlock()
		changes[c.Node] = append(changes[c.Node], c)
	}
	if err := tb.Run(t.Context(), s, tr.body); err != nil {
		t.Fatalf("on testbed %s: %v", tb.Name(), err)
	}
	return changes
}

// script is a sequence of commands, drawn at random.
type script [][]string

const (
	pause = "-- pause"
	brief = "40" // a TTL in milliseconds; the script waits for the expiry
	// long is a TTL in milliseconds that does not expire during the trial.
	long = "3600000"
)

// absoluteEnd stands for an absolute expiry about two hours from now, in milliseconds.
const absoluteEnd = "-- in two hours"

var (
	names  = rapid.SampledFrom([]string{"a", "b", "c"})
	texts  = rapid.SampledFrom([]string{"1", "2", "x", "", "\xff\x00"})
	fields = rapid.SampledFrom([]string{"f", "g", "h"})
)

// forms are command templates: K is a key, V a value, F a field.
var forms = []string{
	"SET K V", "SET K V NX", "SET K V XX", "SET K V PX " + long, "SET K V NX EX 3600", "SET K V KEEPTTL", "SET K V GET",
	"SETNX K V", "GETSET K V", "GETDEL K", "GETEX K PERSIST", "APPEND K V", "INCR K", "DECRBY K 3", "SETRANGE K 2 x",
	"DEL K", "DEL K K", "UNLINK K", "RENAME K K", "COPY K K REPLACE", "PERSIST K",
	"PEXPIRE K " + long, "EXPIRE K 3600 NX", "EXPIRE K 7200 XX", "EXPIRE K 7200 GT", "EXPIRE K 60 LT", "PEXPIRE K 0", "PEXPIREAT K 1",
	"HSET K F V", "HSET K F V F V", "HDEL K F", "HINCRBY K F 2", "HSETNX K F V",
	"SADD K V F", "SREM K V", "ZADD K 1 F 2.5 V", "ZADD K NX 7 F", "ZREM K F", "ZINCRBY K 0.1 F", "ZREMRANGEBYRANK K 0 0",
	"RPUSH K V V", "LPUSH K F", "LPOP K", "LREM K 1 V", "LTRIM K 0 0", "GET K", "HGETALL K", "TTL K", "MSET K V K V", "FLUSHALL",
}

// luas are Lua scripts, each with one key and one argument.
var luas = []string{
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
	`redis.call("set", "made", ARGV[1]); redis.call("incr", "count"); return redis.call("pexpire", "made", 3600000)`,
	`redis.call("set", KEYS[1], "first"); redis.call("set", KEYS[1], ARGV[1]); return {1, 2}`,
	`redis.call("set", KEYS[1], ARGV[1]); return redis.call("no such command")`,
	`redis.call("hincrby", "hash", ARGV[1], 1); if redis.call("hlen", "hash") > 2 then redis.call("del", "hash") end`,
}

func drawCommand(t *rapid.T) []string {
	if rapid.IntRange(0, 5).Draw(t, "lua") == 0 {
		return []string{"EVAL", rapid.SampledFrom(luas).Draw(t, "script"), "1", names.Draw(t, "key"), texts.Draw(t, "arg")}
	}
	words := strings.Fields(rapid.SampledFrom(forms).Draw(t, "form"))
	for i, w := range words {
		switch w {
		case "K":
			words[i] = names.Draw(t, "key")
		case "V":
			words[i] = texts.Draw(t, "value")
		case "F":
			words[i] = fields.Draw(t, "field")
		}
	}
	return words
}

var drawScript = rapid.Custom(func(t *rapid.T) script {
	var s script
	for range rapid.IntRange(3, 12).Draw(t, "length") {
		switch rapid.IntRange(0, 11).Draw(t, "what") {
		case 0:
			s = append(s, []string{"MULTI"})
			for range rapid.IntRange(0, 4).Draw(t, "queued") {
				s = append(s, drawCommand(t))
			}
			s = append(s, []string{rapid.SampledFrom([]string{"EXEC", "EXEC", "DISCARD"}).Draw(t, "end")})
		case 1:
			s = append(s, []string{"SET", names.Draw(t, "key"), texts.Draw(t, "value"), "PX", brief}, []string{pause})
		case 2:
			s = append(s, []string{"PEXPIREAT", names.Draw(t, "key"), absoluteEnd})
		case 3:
			s = append(s, []string{"SET", names.Draw(t, "key"), "v", "PXAT", absoluteEnd})
		default:
			s = append(s, drawCommand(t))
		}
	}
	return append(s, []string{"FLUSHALL"})
})

func (s script) run(ctx context.Context, c *redis.Conn) error {
	for n, words := range s {
		if words[0] == pause {
			time.Sleep(80 * time.Millisecond)
			continue
		}
		args := make([]any, len(words))
		for i, w := range words {
			if w == absoluteEnd {
				w = strconv.FormatInt(time.Now().Add(2*time.Hour+time.Duration(n)*time.Minute).UnixMilli(), 10)
			}
			args[i] = w
		}
		var refused redis.Error
		if err := c.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// TestTheTapSeesWhatTheSimulationTells compares the key changes of random commands. Without
// redis-server it fails, because it would compare nothing.
func TestTheTapSeesWhatTheSimulationTells(t *testing.T) {
	for i := range 60 {
		s := drawScript.Example(i)
		ok := t.Run(strconv.Itoa(i), func(t *testing.T) {
			compare(t, trial{setup: testbed.Setup{Topology: testbed.Single}, body: func(ctx context.Context, e testbed.Env) error {
				c := e.Client(0).Locks().Nodes[0].(*redis.Client).Conn()
				defer c.Close()
				return s.run(ctx, c)
			}})
		})
		if !ok {
			t.Logf("script %d:", i)
			for _, words := range s {
				t.Logf("%q", words)
			}
		}
	}
	t.Logf("differences that are none: %v", differences)
}

// TestTheTapSeesWhatRecipesDo compares the key changes of all recipes' commands and scripts,
// for a client that gets the lock and one that is refused.
func TestTheTapSeesWhatRecipesDo(t *testing.T) {
	for _, r := range locks.All() {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			compare(t, trial{setup: testbed.Setup{Topology: testbed.Topology(r.Topology), Nodes: 3}, instants: true, body: func(ctx context.Context, e testbed.Env) error {
				return use(ctx, e, r)
			}})
		})
	}
}

// handles returns two clients' handles on the lock.
func handles(e testbed.Env, r locks.Recipe) (all []locks.Lock, err error) {
	for i := range 2 {
		make, err := r.New(e.Client(i).Locks())
		if err != nil {
			return nil, err
		}
		l, err := make("lock-0", time.Minute)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// settled is how long to wait for commands that a recipe left under way. A quorum recipe does not
// wait for all replies, and these take time on a busy machine.
func settled(r locks.Recipe) time.Duration {
	if r.Topology == locks.Independent {
		return 200 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// use acquires the lock, lets another client try in vain, and releases it. A recipe whose
// second release panics gets fresh handles for each turn. If a recipe never grants the lock,
// its failed acquire leaves a key that keeps the other client out; use removes the key.
func use(ctx context.Context, e testbed.Env, r locks.Recipe) error {
	_, panics := r.Declares("conduct", "panic", "none")
	_, never := r.Declares("liveness", "no-expiry", "none")
	all, err := handles(e, r)
	if err != nil {
		return err
	}
	for turn := range 2 {
		if turn > 0 && panics {
			if all, err = handles(e, r); err != nil {
				return err
			}
		}
		for i, l := range all {
			lease, err := l.TryLock(ctx)
			var answered redis.Error
			if granted := err == nil; granted == never || !granted && !errors.As(err, &answered) {
				return fmt.Errorf("c%d: got %v, want a grant: %t, or else an error of Redis", i, err, !never)
			}
			time.Sleep(settled(r)) // by then, the last node of a quorum has answered
			_, busy := all[1-i].TryLock(ctx)
			if busy == nil {
				return fmt.Errorf("c%d got the lock of c%d", 1-i, i)
			}
			if never && !errors.Is(busy, locks.ErrBusy) {
				return fmt.Errorf("c%d found no key that c%d left: %w", 1-i, i, busy)
			}
			time.Sleep(settled(r))
			if x, ok := l.(locks.Extender); ok {
				time.Sleep(2 * absolute) // so that unrenewed does not remove the renewal that follows
				if _, err := x.Extend(ctx, lease); err != nil {
					return fmt.Errorf("c%d: extend: %w", i, err)
				}
			}
			if err := l.Unlock(ctx, lease); err != nil {
				return fmt.Errorf("c%d: unlock: %w", i, err)
			}
			time.Sleep(settled(r))
		}
	}
	return nil
}
