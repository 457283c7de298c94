package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
)

// foreign puts another program's keys on a server. same returns an error if these keys have
// changed, or if there are other keys.
func foreign(t *testing.T, c *redis.Client) (same func() error) {
	t.Helper()
	ctx := context.Background()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "lock-0", "theirs", 0)
		p.Set(ctx, "k", "theirs", 0)
		p.HSet(ctx, "hash", "f", "v")
		p.RPush(ctx, "list", 1, 2)
		p.Set(ctx, family+"0123456789abcdef:lock-0", "another trial's", 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before, err := dump(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		after, err := dump(ctx, c)
		if err == nil && !slices.Equal(before, after) {
			err = fmt.Errorf("before %q, after %q", before, after)
		}
		return err
	}
}

func dump(ctx context.Context, c *redis.Client) (all []string, err error) {
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	for _, k := range keys {
		d, err := c.Dump(ctx, k).Result()
		if err != nil {
			return nil, err
		}
		all = append(all, k+"="+d)
	}
	return all, nil
}

func TestAClientCannotLeaveItsUser(t *testing.T) {
	s := redistest.Test(t)
	for _, command := range [][]any{{"AUTH", "default", secret}, {"HELLO", 2, "AUTH", "default", secret}, {"RESET"}} {
		err := run(t, Options{Addrs: []string{s.Addr()}, Own: true}, testbed.Setup{}, func(ctx context.Context, e testbed.Env) error {
			if err := first(e).Do(ctx, command...).Err(); err == nil {
				t.Errorf("%v: got no error", command)
			}
			<-ctx.Done()
			return errors.New("what the body made of it")
		})
		if err == nil || !strings.Contains(err.Error(), "a client sent "+command[0].(string)) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), secret) {
			t.Errorf("%v: got %v, want one line that names the command", command, err)
		}
	}
}

// A network that held commands back writes several at once, or parts of them.
func TestACommandBesideOthersCannotLeaveTheUserEither(t *testing.T) {
	s := redistest.Test(t)
	for name, writes := range map[string][]string{
		"the second of one write": {"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$5\r\nRESET\r\n"},
		"in two parts":            {"*1\r\n$5\r\nRE", "SET\r\n"},
		"no command":              {"RESET\r\n"},
	} {
		on := newServer(target{addr: s.Addr()}, family)
		c, err := on.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range writes {
			_, err = c.Write([]byte(part))
		}
		if err == nil || !strings.Contains(err.Error(), "not sent on") || on.Err() == nil {
			t.Errorf("%s: got %v and %v, want it refused", name, err, on.Err())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestKeysAreTakenAwayHoweverATrialEnds(t *testing.T) {
	s := redistest.Test(t)
	c := admin(t, &redis.Options{Addr: s.Addr()})
	same := foreign(t, c)
	leave := func(ctx context.Context, e testbed.Env) error {
		_, err := first(e).Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, named(e, "lock-0"), "ours", 0)
			p.HSet(ctx, named(e, "lock-1"), "f", "v")
			// Set a key whose name only the script knows.
			p.Eval(ctx, `return redis.call("SET", KEYS[1] .. ":made-up", 1)`, []string{named(e, "lock-2")})
			return nil
		})
		if err != nil {
			return err
		}
		if n := c.DBSize(ctx).Val(); n != 8 {
			return fmt.Errorf("%d keys on the server, want theirs and 3 of ours", n)
		}
		return nil
	}
	for name, c := range map[string]struct {
		body func(context.Context, context.CancelFunc, testbed.Env) error
		want error
	}{
		"as it should": {func(context.Context, context.CancelFunc, testbed.Env) error { return nil }, nil},
		"interrupted": {func(ctx context.Context, cancel context.CancelFunc, _ testbed.Env) error {
			cancel()
			return ctx.Err()
		}, context.Canceled},
		"with a crashed client": {func(_ context.Context, _ context.CancelFunc, e testbed.Env) error {
			return e.(testbed.Clients).CrashClient(0)
		}, nil},
		"behind a cut": {func(ctx context.Context, _ context.CancelFunc, e testbed.Env) error {
			_, err := e.(testbed.Network).Cut(ctx, testbed.Link{From: "c0", To: "n0"}, testbed.Both)
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tb, err := New(t.Context(), Options{Addrs: []string{s.Addr()}, Own: true})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = runOn(ctx, tb, testbed.Setup{}, func(ctx context.Context, e testbed.Env) error {
				return errors.Join(leave(ctx, e), c.body(ctx, cancel, e))
			})
			if !errors.Is(err, c.want) || err != nil && c.want == nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err := same(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatCannotBeTakenAwayIsNamed(t *testing.T) {
	s := redistest.Test(t, user("lock on nopass ~lockstorm:* &* +@all -unlink -del")...)
	o := Options{Addrs: []string{s.Addr()}, Own: true}
	c := admin(t, &redis.Options{Addr: s.Addr()})
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	err = runOn(t.Context(), tb, testbed.Setup{}, func(ctx context.Context, e testbed.Env) error {
		return errors.Join(setGet(ctx, e), c.Do(ctx, "ACL", "SETUSER", "default", "-unlink", "-del").Err())
	})
	left := c.Keys(t.Context(), family+"*").Val()
	if len(left) != 1 || err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), strings.TrimSuffix(left[0], "k")) {
		t.Errorf("got %v, want one line that names the prefix of %q", err, left)
	}
}

func TestAServerThatGoesAwayEndsTheTrial(t *testing.T) {
	s := redistest.Test(t)
	err := run(t, Options{Addrs: []string{s.Addr()}, Own: true}, testbed.Setup{}, func(ctx context.Context, e testbed.Env) error {
		if err := errors.Join(setGet(ctx, e), s.Kill()); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), s.Addr()+" ended a connection") {
		t.Errorf("got %v, want an error that names the server", err)
	}
}

func TestTheLogTellsThePrefix(t *testing.T) {
	s, logs := redistest.Test(t), t.TempDir()
	var key string
	err := run(t, Options{Addrs: []string{s.Addr()}, Own: true}, testbed.Setup{Logs: logs}, func(ctx context.Context, e testbed.Env) error {
		keys, err := redis.NewClient(&redis.Options{Addr: s.Addr()}).Keys(ctx, family+"*").Result()
		if len(keys) > 0 {
			t.Errorf("before the first command: %q", keys)
		}
		if err := errors.Join(err, setGet(ctx, e)); err != nil {
			return err
		}
		c := admin(t, &redis.Options{Addr: s.Addr()})
		key = c.Keys(ctx, family+"*").Val()[0]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(logs, "n0.log"))
	if prefix := strings.TrimSuffix(key, "k"); err != nil || !strings.Contains(string(text), prefix) {
		t.Errorf("got %q, %v, want %s in it", text, err, prefix)
	}
}

func TestIndependentServersAreNodes(t *testing.T) {
	o := Options{Own: true}
	for range 3 {
		o.Addrs = append(o.Addrs, redistest.Test(t).Addr())
	}
	err := run(t, o, testbed.Setup{Topology: testbed.Independent, Nodes: 3}, func(ctx context.Context, e testbed.Env) error {
		for i, n := range e.Client(0).Locks().Nodes {
			if err := n.Set(ctx, named(e, "k"), i, time.Minute).Err(); err != nil {
				return err
			}
			keys, err := e.(testbed.Inspector).Keys(ctx, fmt.Sprintf("n%d", i))
			if err != nil || len(keys) != 1 || string(keys[0].Key) != named(e, "k") || string(keys[0].Value) != fmt.Sprint(i) {
				return fmt.Errorf("n%d: got %+v, %w", i, keys, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
