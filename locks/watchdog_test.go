package locks

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// eventually polls until holds returns true, and fails the test if that takes too long.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not so after two minutes", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// shorten sets the key's life on the first node, for example to see whether a renewal prolongs it.
func shorten(t *testing.T, c *Client, key string, to time.Duration) {
	t.Helper()
	if err := c.Nodes[0].Do(t.Context(), "PEXPIRE", key, to.Milliseconds()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestWatchdogRenewsAtEveryIntervalUntil(t *testing.T) {
	tests := []struct {
		name  string
		end   func(w *watchdog, cancel func())
		until int // the expected number of renewals
		fails int // the number of the renewal that returns false; 0 = none
	}{
		{"stop", func(w *watchdog, _ func()) { w.stop(); w.stop() }, 3, 0},
		{"the client process ends", func(_ *watchdog, cancel func()) { cancel() }, 3, 0},
		{"a renewal says so", func(*watchdog, func()) {}, 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				renewals := 0
				w := startWatchdog(ctx, time.Second, never, func(context.Context) bool {
					renewals++
					return renewals != tt.fails
				})
				time.Sleep(3*time.Second + time.Millisecond)
				synctest.Wait()
				tt.end(w, cancel)
				time.Sleep(time.Minute)
				synctest.Wait()
				if renewals != tt.until {
					t.Errorf("%d renewals, want %d", renewals, tt.until)
				}
				if w.alive() {
					t.Error("the watchdog still lives")
				}
			})
		})
	}
}

func TestAfterALongRenewalAStopAndATickAreBothReady(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tickWins func() bool
		renewals int
	}{
		{"the stop wins", never, 1},
		{"D0's select, an even draw", evenOdds(bytes.NewReader([]byte{2})), 1},
		{"D0's select, an odd draw and then an even one", evenOdds(bytes.NewReader([]byte{1, 2})), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				renewals := 0
				w := startWatchdog(t.Context(), time.Second, tt.tickWins, func(context.Context) bool {
					renewals++
					time.Sleep(1500 * time.Millisecond) // the next tick comes meanwhile
					return true
				})
				time.Sleep(1100 * time.Millisecond)
				w.stop()
				<-w.done
				if renewals != tt.renewals {
					t.Errorf("%d renewals, want %d", renewals, tt.renewals)
				}
			})
		})
	}
}

func TestNoGoroutineOutlivesTheClientProcess(t *testing.T) {
	for _, id := range []string{"set-nx-px-watchdog", "set-nx-px-watchdog-reused", "set-nx-ex-bounded-renewal", "reentrant-renewal", "reentrant-hash-watchdog", "redisson", "redisson-redlock", "redlock-naive"} {
		t.Run(id, func(t *testing.T) {
			c := newClientOn(t, 0, 3)
			before := goleak.IgnoreCurrent()
			process, end := context.WithCancel(t.Context())
			defer end()
			c.Context = process
			l := newLock(t, id, c, time.Second)
			call, hangUp := context.WithCancel(t.Context())
			if _, err := l.TryLock(call); err != nil {
				t.Fatal(err)
			}
			hangUp()
			end()
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
		})
	}
}

// calls reports whether cmd is a command or a script of that name.
func calls(cmd redis.Cmder, name string) bool {
	called := cmd.Name()
	if strings.EqualFold(called, "EVALSHA") {
		called = scriptName(cmd.Args()[1].(string))
	}
	return strings.EqualFold(called, name)
}

// answered returns a channel that is closed when the client's nth command or script of that name has its
// answer, counted from 1 and from now on.
func answered(c *Client, name string, nth int64) <-chan struct{} {
	var n atomic.Int64
	done := make(chan struct{})
	c.Nodes[0].AddHook(hook(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if calls(cmd, name) && n.Add(1) == nth {
			close(done)
		}
		return err
	}))
	return done
}

// failing makes some of the client's commands or scripts of that name fail before the client sends
// them. which selects them by their number, counted from 1 and from now on.
func failing(c *Client, name string, which func(n int) bool) {
	var n atomic.Int64
	c.Nodes[0].AddHook(hook(func(cmd redis.Cmder, send func() error) error {
		if calls(cmd, name) && which(int(n.Add(1))) {
			cmd.SetErr(errConnectionLost)
			return errConnectionLost
		}
		return send()
	}))
}

var errConnectionLost = errors.New("connection lost")
