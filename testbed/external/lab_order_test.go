package external

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed"
)

// only is the one command with that name and second argument.
func only(t *testing.T, commands []history.Command, name, arg string) (found history.Command) {
	t.Helper()
	n := 0
	for _, c := range commands {
		if testbed.CommandName(c.Args) == name && len(c.Args) > 1 && string(c.Args[len(c.Args)-1]) == arg {
			found = c
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%s … %s: got %d, want 1", name, arg, n)
	}
	return found
}

func TestTheLabTellsWhatALateCommandCameAfter(t *testing.T) {
	var undone time.Duration
	commands := inLab(t, testbed.Setup{CommandTimeout: labHasty}, func(ctx context.Context, e testbed.Env) error {
		undo, err := e.(testbed.Network).Hold(ctx, c0n0, testbed.Upstream)
		if err != nil {
			return err
		}
		if err := first(e).Set(ctx, "k", "late", 0).Err(); err == nil {
			t.Error("held: got no error")
		}
		other := e.Client(1).Locks().Nodes[0]
		if err := other.Set(ctx, "k", "between", 0).Err(); err != nil {
			return err
		}
		undone = e.Now()
		if _, err := undo(ctx); err != nil {
			return err
		}
		return errors.Join(awaitOnNode(ctx, e, "k", "late"), other.Set(ctx, "k", "after", 0).Err())
	})
	late, between, after := only(t, commands, "SET", "late"), only(t, commands, "SET", "between"), only(t, commands, "SET", "after")
	if !(0 < between.Exec && between.Exec < late.Exec && late.Exec < after.Exec) {
		t.Errorf("places: got %d, %d and %d, want them to grow", between.Exec, late.Exec, after.Exec)
	}
	if late.Replied > 0 || late.Arrived < undone || late.Served < late.Arrived || late.Served-late.Arrived > labHasty {
		t.Errorf("undone at %v: got %+v, want it served soon after, and no reply", undone, late)
	}
}

func TestScriptsAndTransactionsInTheLabHaveAPlace(t *testing.T) {
	commands := inLab(t, testbed.Setup{}, func(ctx context.Context, e testbed.Env) error {
		r := first(e)
		if err := r.Eval(ctx, "redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])", []string{"k"}, "by script").Err(); err != nil {
			return err
		}
		_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "k", "in transaction", 0)
			return nil
		})
		return err
	})
	script, queued := only(t, commands, "EVAL", "by script"), only(t, commands, "SET", "in transaction")
	if script.Exec == 0 || queued.Exec < script.Exec || script.Served > script.Replied {
		t.Errorf("got %+v and %+v", script, queued)
	}
}

// TestHalfAnOrderIsNone wants that no command counts as not executed because the
// node stopped telling.
func TestHalfAnOrderIsNone(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	commands := inLab(t, testbed.Setup{Topology: testbed.Independent, Nodes: 3, Logs: logs}, func(ctx context.Context, e testbed.Env) error {
		set := func() (errs []error) {
			for _, r := range e.Client(0).Locks().Nodes {
				errs = append(errs, r.Set(ctx, "k", "1", 0).Err())
			}
			return errs
		}
		before := set()
		err := e.(*labEnv).nodes[1].ask(ctx, func(c *redis.Client) error {
			list, err := c.ClientList(ctx).Result()
			for one := range strings.SplitSeq(list, "\n") {
				if strings.Contains(one, " flags=O ") {
					id, _, _ := strings.Cut(strings.TrimPrefix(one, "id="), " ")
					err = errors.Join(err, c.ClientKillByFilter(ctx, "ID", id).Err())
				}
			}
			return err
		})
		return errors.Join(append(before, append(set(), err)...)...)
	})
	for _, c := range commands {
		if c.Exec > 0 || c.Arrived > 0 || c.Served > 0 {
			t.Fatalf("got %+v", c)
		}
	}
	why, err := os.ReadFile(filepath.Join(logs, "order.log"))
	if err != nil || !strings.Contains(string(why), "n1: ") || strings.Contains(string(why), "n0: ") {
		t.Errorf("got %s, %v, want to be told of n1", why, err)
	}
}

// TestWhoStaysConnectedToTheLabHidesNoOrder has others on the nodes from where clients
// come, too: in the lab Sentinels and replicas come over toxiproxy as they do.
func TestWhoStaysConnectedToTheLabHidesNoOrder(t *testing.T) {
	for name, others := range map[string]struct {
		come  func(*testing.T, *redis.Client) // before the trial
		again func(*testing.T, *redis.Client) // during it; nil = nothing
	}{
		"who came before": {come: func(t *testing.T, node *redis.Client) {
			c := admin(t, node.Options()).Conn()
			t.Cleanup(func() { c.Close() })
			if err := c.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}},
		"a Sentinel that comes anew": {come: startSentinel, again: func(t *testing.T, node *redis.Client) {
			before := awaitSentinel(t, node, 0)
			for _, id := range before {
				if err := node.ClientKillByFilter(t.Context(), "ID", strconv.FormatInt(id, 10)).Err(); err != nil {
					t.Fatal(err)
				}
			}
			awaitSentinel(t, node, slices.Max(before))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			place := startLab(t, 0)
			node := admin(t, &redis.Options{Addr: place.group[0].straight})
			others.come(t, node)
			l, err := openLab(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			logs := filepath.Join(t.TempDir(), "logs")
			var set history.Command
			s := testbed.Setup{Topology: testbed.Replicated, Clients: 1, Clock: l.Clock(), Logs: logs, Commands: func(c history.Command) {
				if testbed.CommandName(c.Args) == "SET" {
					set = c
				}
			}}
			err = l.Run(t.Context(), s, func(ctx context.Context, e testbed.Env) error {
				if others.again != nil {
					others.again(t, node)
				}
				return first(e).Set(ctx, "k", "1", 0).Err()
			})
			if err != nil {
				t.Error(err)
			}
			if why, err := os.ReadFile(filepath.Join(logs, "order.log")); !errors.Is(err, os.ErrNotExist) || set.Exec == 0 {
				t.Errorf("got %+v: %s, %v, want it in the order of execution", set, why, err)
			}
		})
	}
}

// startSentinel has a Sentinel watch a node until the test ends.
func startSentinel(t *testing.T, node *redis.Client) {
	t.Helper()
	dir := t.TempDir()
	host, port, _ := net.SplitHostPort(node.Options().Addr)
	config := "sentinel monitor lab " + host + " " + port + " 2\n" // alone it decides nothing
	if err := os.WriteFile(filepath.Join(dir, redisserver.SentinelConfig), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := redisserver.Start(t.Context(), redisserver.Options{Dir: dir, Sentinel: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	awaitSentinel(t, node, 0)
}

// awaitSentinel waits for a Sentinel's two connections with ids above that, and returns
// these ids.
func awaitSentinel(t *testing.T, node *redis.Client, above int64) []int64 {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		list, err := node.ClientList(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for one := range strings.SplitSeq(list, "\n") {
			text, _, _ := strings.Cut(strings.TrimPrefix(one, "id="), " ")
			if id, _ := strconv.ParseInt(text, 10, 64); id > above && strings.Contains(one, " name=sentinel-") {
				ids = append(ids, id)
			}
		}
		if len(ids) == 2 {
			return ids
		}
	}
	t.Fatal("no Sentinel has come")
	return nil
}

func TestThatNothingSaysWhyTheOrderIsNotKnownIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	why := errors.New("n0 stopped to tell")
	e := &labEnv{setup: testbed.Setup{Logs: filepath.Join(file, "logs")}}
	if err := e.note(why); !errors.Is(err, why) || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("got %v, want both why and that it cannot be kept", err)
	}
}
