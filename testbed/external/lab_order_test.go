package external

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
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
