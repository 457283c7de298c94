package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// watched is what a trial reported: key changes, nodes whose keys are unseen, and commands.
type watched struct {
	mu       sync.Mutex
	changes  []history.KeyChange
	unseen   map[string]error
	commands []history.Command
}

// watch runs body in a world whose keys are observed, and checks the invariants of all key changes.
func watch(t *testing.T, s testbed.Setup, body func(context.Context, testbed.Env, *watched) error) *watched {
	t.Helper()
	w := &watched{unseen: map[string]error{}}
	tb, err := New(Options{Temp: redistest.Memory(t)})
	if err != nil {
		t.Fatal(err)
	}
	s.Clients = max(s.Clients, 2)
	s.CommandTimeout, s.Clock = max(s.CommandTimeout, time.Minute), tb.Clock()
	s.Commands = func(c history.Command) { w.commands = append(w.commands, c) }
	s.Keys = func(c history.KeyChange) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes = append(w.changes, c)
	}
	s.Unseen = func(node string, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.unseen[node] != nil {
			t.Errorf("it was told twice that %s is unseen", node)
		}
		w.unseen[node] = err
	}
	if err := tb.Run(t.Context(), s, func(ctx context.Context, e testbed.Env) error { return body(ctx, e, w) }); err != nil {
		t.Fatal(err)
	}
	testbedtest.Chain(w.changes).Check(t)
	if t.Failed() {
		t.Log("changes:\n" + strings.Join(w.told(), "\n"))
	}
	return w
}

// told returns the recorded changes, one line each: "n0 k: command: - → string v".
func (w *watched) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, c := range w.changes {
		lines = append(lines, line(c))
	}
	return lines
}

func line(c history.KeyChange) string {
	return fmt.Sprintf("%s %s: %s: %s → %s", c.Node, c.Key, c.By, words(c.Before), words(c.After))
}

// words describes a content. Of the expiry it says only whether there is one ("mortal").
func words(k *history.KeyContent) string {
	if k == nil {
		return "-"
	}
	text := k.Type + " " + string(k.Value)
	for _, f := range k.Fields {
		text += fmt.Sprintf("%s=%s,", f.Name, f.Value)
	}
	for _, m := range k.Members {
		text += string(m) + ","
	}
	if k.Expires > 0 {
		text += " mortal"
	}
	return text
}

func (w *watched) want(t *testing.T, want ...string) {
	t.Helper()
	got := w.told()
	slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:2], b[:2]) }) // sort by node; changes of one node keep their order
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func first(e testbed.Env) *redis.Client { return e.Client(0).Locks().Nodes[0].(*redis.Client) }

func TestTheTapTellsWhatCommandsDo(t *testing.T) {
	var executed int
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r := first(e)
		script := redis.NewScript(`redis.call("set", KEYS[1], ARGV[1]); redis.call("hset", "of-its-own", "f", 1); return 1`)
		_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "tx", "1", 0)
			p.Del(ctx, "tx")
			p.Set(ctx, "tx", "2", 0)
			p.SAdd(ctx, "set", "b", "a")
			return nil
		})
		err = errors.Join(err,
			r.Set(ctx, "k", "v", 0).Err(),
			r.Set(ctx, "k", "v", 0).Err(), // changes nothing
			r.PExpire(ctx, "k", time.Hour).Err(),
			r.Append(ctx, "k", "w").Err(),
			r.HSet(ctx, "h", "b", "1", "a", "2").Err(),
			r.HDel(ctx, "h", "b").Err(),
			r.Rename(ctx, "h", "k").Err(),
			script.Run(ctx, r, []string{"s"}, "x").Err(),
			r.ZAdd(ctx, "z", redis.Z{Score: 1.5, Member: "m"}).Err(),
			r.RPush(ctx, "l", "y", "x").Err(),
			r.XAdd(ctx, &redis.XAddArgs{Stream: "st", ID: "1-1", Values: []string{"f", "v"}}).Err(),
			r.Get(ctx, "k").Err(),
		)
		if err != nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			return err
		}
		return r.FlushAll(ctx).Err()
	})
	for _, c := range w.commands {
		executed = max(executed, c.Exec)
	}
	w.want(t,
		"n0 set: command: - → set a,b,", "n0 tx: command: - → string 2",
		"n0 k: command: - → string v",
		"n0 k: command: string v → string v mortal",
		"n0 k: command: string v mortal → string vw mortal",
		"n0 h: command: - → hash a=2,b=1,",
		"n0 h: command: hash a=2,b=1, → hash a=2,",
		"n0 h: command: hash a=2, → -",
		"n0 k: command: string vw mortal → hash a=2,",
		"n0 of-its-own: command: - → hash f=1,",
		"n0 s: command: - → string x",
		"n0 z: command: - → zset m=1.5,",
		"n0 l: command: - → list y,x,",
		"n0 st: command: - → stream 1-1 f v,",
		"n0 k: command: hash a=2, → -", "n0 l: command: list y,x, → -", "n0 of-its-own: command: hash f=1, → -",
		"n0 s: command: string x → -", "n0 set: command: set a,b, → -", "n0 st: command: stream 1-1 f v, → -",
		"n0 tx: command: string 2 → -", "n0 z: command: zset m=1.5, → -",
	)
	wantBounds(t, w)
	if last := w.changes[len(w.changes)-1]; last.Exec != executed {
		t.Errorf("the last command's place is %d, the last change's %d", executed, last.Exec)
	}
}

// wantBounds checks the time bounds (From, To) of all changes by commands: From is not later than
// the command's arrival, and To is not later than its reply.
func wantBounds(t *testing.T, w *watched) {
	t.Helper()
	for _, k := range w.changes {
		if k.By != history.ByCommand {
			continue
		}
		i := slices.IndexFunc(w.commands, func(c history.Command) bool { return c.Node == k.Node && c.Exec == k.Exec })
		if i < 0 {
			t.Errorf("%s: by no command: %d", line(k), k.Exec)
			continue
		}
		if c := w.commands[i]; k.To > c.Served || k.From > c.Arrived {
			t.Errorf("%s: from %v to %v, by %q from %v to %v", line(k), k.From, k.To, c.Args, c.Arrived, c.Served)
		}
	}
}

func TestTheEndOfALifeIsTold(t *testing.T) {
	const life = 40 * time.Millisecond
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r := first(e)
		if err := r.Set(ctx, "k", "v", life).Err(); err != nil {
			return err
		}
		for end := time.Now().Add(2 * time.Minute); len(w.told()) < 2 && time.Now().Before(end); time.Sleep(life) {
		}
		if n := len(w.told()); n != 2 {
			t.Errorf("after its life %d changes were told, want 2", n)
		}
		// Take the key again as soon as it expires.
		for range 20 {
			if err := r.SetArgs(ctx, "busy", "v", redis.SetArgs{Mode: "NX", TTL: 5 * time.Millisecond}).Err(); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			for {
				ok, err := r.SetNX(ctx, "busy", "w", 3*time.Millisecond).Result()
				if err != nil {
					return err
				}
				if ok {
					break
				}
			}
		}
		time.Sleep(life)
		return nil
	})
	by := map[history.ChangedBy]int{}
	for _, c := range w.changes {
		by[c.By]++
		if c.By == history.ByExpiry && (c.From < c.Before.Expires-5*time.Millisecond || c.To < c.Before.Expires) {
			t.Errorf("%s: from %v on, its life ended at %v", line(c), c.From, c.Before.Expires)
		}
	}
	if lives := by[history.ByCommand]; by[history.ByExpiry]+by[history.ByUnknown] != lives {
		t.Errorf("got %v, want as many ends of lives", by)
	}
	t.Logf("%v", by)
	if end := w.changes[1]; end.To-end.Before.Expires > time.Second {
		t.Errorf("the end of a life at %v was seen by %v", end.Before.Expires, end.To)
	}
}
