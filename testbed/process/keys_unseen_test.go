package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// TestClientsDoNotNoticeThatKeysAreWatched checks that the observer's commands do not affect what a
// client can see: transactions, tracking, notifications, the number of cached scripts, the
// replication offset, the number of unsaved changes. MONITOR's log must not show
// the observer's commands either.
func TestClientsDoNotNoticeThatKeysAreWatched(t *testing.T) {
	monitor := filepath.Join(t.TempDir(), "monitor")
	watch(t, testbed.Setup{Topology: testbed.Single, Monitor: monitor}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r, other := first(e), e.Client(1).Locks().Nodes[0].(*redis.Client)
		if err := r.Set(ctx, "k", "v", time.Hour).Err(); err != nil {
			return err
		}
		busy := func() {
			for range 10 {
				if err := other.Incr(ctx, "other").Err(); err != nil {
					t.Error(err)
				}
			}
		}
		err := r.Watch(ctx, func(tx *redis.Tx) error {
			busy()
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Append(ctx, "k", "w"); return nil })
			return err
		}, "k")
		if err != nil {
			t.Errorf("a transaction on a key that nobody changed: %v", err)
		}
		heard, herr := notified(ctx, r, "k", busy)
		if herr != nil || len(heard) > 0 {
			t.Errorf("told of a key that nobody changed: %v, %v", heard, herr)
		}
		before, err := r.InfoMap(ctx).Result()
		if err != nil {
			return err
		}
		for range 10 {
			if err := r.SetNX(ctx, "k", "x", 0).Err(); err != nil { // changes nothing, but is followed by a look
				return err
			}
		}
		after, err := r.InfoMap(ctx).Result()
		if err != nil {
			return err
		}
		for _, f := range [][2]string{{"Memory", "number_of_cached_scripts"}, {"Replication", "master_repl_offset"}, {"Persistence", "rdb_changes_since_last_save"}} {
			if before[f[0]][f[1]] != after[f[0]][f[1]] {
				t.Errorf("%s: was %s, is %s", f[1], before[f[0]][f[1]], after[f[0]][f[1]])
			}
		}
		return nil
	})
	text, err := os.ReadFile(filepath.Join(monitor, "monitor-n0.log"))
	if err != nil || !strings.Contains(string(text), `"watch" "k"`) || strings.Contains(string(text), "PEXPIRETIME") {
		t.Errorf("%v, the log of commands tells of looks, or of nothing:\n%.500s", err, text)
	}
}

// notified returns the messages about a key that a client gets while the function meanwhile runs:
// keyspace notifications, and invalidations because the client tracks the key.
func notified(ctx context.Context, r *redis.Client, key string, meanwhile func()) (heard []string, err error) {
	if err := r.ConfigSet(ctx, "notify-keyspace-events", "KA").Err(); err != nil {
		return nil, err
	}
	told := r.Subscribe(ctx, "__keyspace@0__:"+key, "__redis__:invalidate")
	defer told.Close()
	for range 2 {
		if _, err := told.Receive(ctx); err != nil {
			return nil, err
		}
	}
	id, err := r.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		return nil, err
	}
	id, _, _ = strings.Cut(strings.TrimPrefix(id, "id="), " ")
	c := r.Conn()
	defer c.Close()
	if err := errors.Join(c.Do(ctx, "CLIENT", "TRACKING", "ON", "REDIRECT", id).Err(), c.Get(ctx, key).Err()); err != nil {
		return nil, err
	}
	meanwhile()
	for {
		m, err := told.ReceiveTimeout(ctx, 50*time.Millisecond)
		if err != nil {
			return heard, nil // no more messages
		}
		if m, ok := m.(*redis.Message); ok {
			heard = append(heard, m.Payload)
		}
	}
}
