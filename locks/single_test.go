package locks

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// clock is a fixed wall clock for recipes that store the time.
var clock = time.UnixMilli(1_000_000)

func fixedClock() time.Time { return clock }

// protocols has the commands that a recipe sends with a lease time of 1.5 s and the fixed clock: to
// acquire a free lock, to try a busy lock, and to release. $token stands for the lease's token.
var protocols = []struct {
	recipe                 string
	acquire, busy, release []string
}{
	{"exists-set", []string{"EXISTS k", "SET k 1"}, []string{"EXISTS k"}, []string{"DEL k"}},
	{"setnx", []string{"SETNX k 1"}, []string{"SETNX k 1"}, []string{"DEL k"}},
	{"setnx-expire", []string{"SETNX k 1", "EXPIRE k 2"}, []string{"SETNX k 1"}, []string{"DEL k"}},
	{"setnx-expire-pipeline", []string{"SETNX k 1", "EXPIRE k 2"}, []string{"SETNX k 1", "EXPIRE k 2"}, []string{"DEL k"}},
	{"setnx-expire-multi", []string{"MULTI", "SETNX k 1", "EXPIRE k 2", "EXEC"}, []string{"MULTI", "SETNX k 1", "EXPIRE k 2", "EXEC"}, []string{"DEL k"}},
	{"setnx-takeover-del", []string{"SETNX k 1001500"}, []string{"SETNX k 1001500", "GET k"}, []string{"DEL k"}},
	{"getset", []string{"SETNX k " + encodeMillis(1_003_000), "EXPIRE k 2"},
		[]string{"SETNX k " + encodeMillis(1_003_000), "GET k"}, []string{"DEL k"}},
	{"lua-setnx-expire", []string{"EVALSHA setnx-then-expire 1 k 1 2", "lua SETNX k 1", "lua EXPIRE k 2"},
		[]string{"EVALSHA setnx-then-expire 1 k 1 2", "lua SETNX k 1"}, []string{"DEL k"}},
	{"lua-setnx-expire-owner",
		[]string{"EVALSHA setnx-then-expire 1 k $token 2", "lua SETNX k $token", "lua EXPIRE k 2"},
		[]string{"EVALSHA setnx-then-expire 1 k $token 2", "lua SETNX k $token"},
		[]string{"EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}},
	{"set-nx-ex", []string{"SET k 1 EX 2 NX"}, []string{"SET k 1 EX 2 NX"}, []string{"DEL k"}},
	{"set-nx-ex-get-del", []string{"SET k $token EX 2 NX"}, []string{"SET k $token EX 2 NX"}, []string{"GET k", "DEL k"}},
	{"set-nx-px", []string{"SET k $token NX PX 1500"}, []string{"SET k $token NX PX 1500"},
		[]string{"EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}},
	{"set-nx-px-watchdog", []string{"SET k $token NX PX 1500"}, []string{"SET k $token NX PX 1500"},
		[]string{"EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}},
	{"set-nx-px-watchdog-reused", []string{"SET k $token NX PX 1500"}, []string{"SET k $token NX PX 1500"},
		[]string{"EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}},
	{"reentrant-local", []string{"SET k $token EX 2 NX"}, []string{"SET k $token EX 2 NX"},
		[]string{"EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}},
	{"reentrant-hash",
		[]string{"EVALSHA hash-enter 1 k $token 2", "lua EXISTS k", "lua HINCRBY k $token 1", "lua EXPIRE k 2"},
		[]string{"EVALSHA hash-enter 1 k $token 2", "lua EXISTS k", "lua HEXISTS k $token"},
		[]string{"EVALSHA hash-leave 1 k $token", "lua HEXISTS k $token", "lua HINCRBY k $token -1", "lua DEL k"}},
	{"reentrant-hash-watchdog",
		[]string{"EVALSHA hash-enter 1 k $token 2", "lua EXISTS k", "lua HINCRBY k $token 1", "lua EXPIRE k 2"},
		[]string{"EVALSHA hash-enter 1 k $token 2", "lua EXISTS k", "lua HEXISTS k $token"},
		[]string{"EVALSHA hash-leave 1 k $token", "lua HEXISTS k $token", "lua HINCRBY k $token -1", "lua DEL k"}},
	{"redisson",
		[]string{"EVALSHA redisson-enter 1 k $token 1500", "lua EXISTS k", "lua HINCRBY k $token 1", "lua PEXPIRE k 1500"},
		[]string{"EVALSHA redisson-enter 1 k $token 1500", "lua EXISTS k", "lua HEXISTS k $token", "lua PTTL k"},
		[]string{"EVALSHA redisson-leave 2 k redisson_lock__channel:{k} $token 1500", "lua HEXISTS k $token", "lua HINCRBY k $token -1",
			"lua DEL k", "lua PUBLISH redisson_lock__channel:{k} 0"}},
	{"redisson-lease",
		[]string{"EVALSHA redisson-enter 1 k $token 1500", "lua EXISTS k", "lua HINCRBY k $token 1", "lua PEXPIRE k 1500"},
		[]string{"EVALSHA redisson-enter 1 k $token 1500", "lua EXISTS k", "lua HEXISTS k $token", "lua PTTL k"},
		[]string{"EVALSHA redisson-leave 2 k redisson_lock__channel:{k} $token 1500", "lua HEXISTS k $token", "lua HINCRBY k $token -1",
			"lua DEL k", "lua PUBLISH redisson_lock__channel:{k} 0"}},
	{"fenced",
		[]string{"EVALSHA set-and-count 2 k {k}:fence $token 1500", "lua SET k $token NX PX 1500", "lua INCR {k}:fence"},
		[]string{"EVALSHA set-and-count 2 k {k}:fence $token 1500", "lua SET k $token NX PX 1500"},
		[]string{"EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}},
}

// together lists the recipes whose attempts send all commands in one write, whatever the replies
// are.
var together = []string{"setnx-expire-pipeline", "setnx-expire-multi"}

// protocolClient returns a client with the fixed clock, on a node that knows the scripts.
func protocolClient(t *testing.T, i int) *Client {
	c := newClient(t, i)
	c.Now = fixedClock
	loadScripts(t, c, setnxThenExpire, compareAndDelete, hashEnter, hashLeave, redissonEnter, redissonLeave, setAndCount)
	return c
}

func TestRecipeSendsWhatItsRowNames(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.recipe, func(t *testing.T) {
			ca, cb := protocolClient(t, 0), protocolClient(t, 1)
			a, b := newLock(t, p.recipe, ca, 1500*time.Millisecond), newLock(t, p.recipe, cb, 1500*time.Millisecond)
			var lease Lease
			play(t, []step{{"acquire", try(t, a, &lease), strings.Join(p.acquire, ", "), nil}})
			checkLife(t, ca, lifeOf(p.recipe))
			play(t, []step{
				{"busy", try(t, b, nil), strings.Join(p.busy, ", "), ErrBusy},
				{"release", release(t, a, &lease), strings.Join(p.release, ", "), nil},
			})
			if got := life(t, ca, "k"); got != -2 {
				t.Errorf("after the release the key still lives for %v", got)
			}
			if _, err := b.TryLock(t.Context()); err != nil {
				t.Errorf("second client after the release: %v", err)
			}
		})
	}
}

func withToken(commands []string, token string) []string {
	replaced := make([]string, len(commands))
	for i, c := range commands {
		replaced[i] = strings.ReplaceAll(c, "$token", token)
	}
	return replaced
}

// ownLives lists the recipes whose keys do not live for the claimed recovery time, with the key's life
// for a lease of 1.5 s; 0 = no expiry.
var ownLives = map[string]time.Duration{"getset": 2 * time.Second, "setnx-takeover-del": 0}

// lifeOf returns the life that a recipe's key gets for a lease of 1.5 s.
func lifeOf(recipe string) time.Duration {
	if own, ok := ownLives[recipe]; ok {
		return own
	}
	r, _ := ByID(recipe)
	return r.Claims(1500*time.Millisecond, 1).Recovery
}

// checkLife checks that the key has just got this life; 0 = no expiry.
func checkLife(t *testing.T, c *Client, want time.Duration) {
	t.Helper()
	got := life(t, c, "k")
	switch {
	case want == 0 && got != -1:
		t.Errorf("the key's life is %v, want none", got)
	case want != 0 && (got <= want-time.Second || got > want):
		t.Errorf("the key's life is %v, want %v", got, want)
	}
}

func TestReleaseAfterTheKeyExpired(t *testing.T) {
	tests := []struct {
		recipe   string
		gone     error // the release's result if nobody holds the lock
		foreign  error // the release's result if another client holds the lock
		survives bool  // the other client's key survives the release
	}{
		{"exists-set", ErrNotHeld, nil, false},
		{"setnx", ErrNotHeld, nil, false},
		{"setnx-expire", ErrNotHeld, nil, false},
		{"setnx-expire-pipeline", ErrNotHeld, nil, false},
		{"setnx-expire-multi", ErrNotHeld, nil, false},
		{"setnx-takeover-del", ErrNotHeld, nil, false},
		{"getset", ErrNotHeld, nil, false},
		{"lua-setnx-expire", ErrNotHeld, nil, false},
		{"lua-setnx-expire-owner", nil, nil, true},
		{"set-nx-ex", ErrNotHeld, nil, false},
		{"set-nx-ex-get-del", ErrNotHeld, ErrNotHeld, true},
		{"set-nx-px", ErrNotHeld, ErrNotHeld, true},
		{"set-nx-px-watchdog", nil, nil, true},
		{"fenced", ErrNotHeld, ErrNotHeld, true},
	}
	for _, tt := range tests {
		t.Run(tt.recipe, func(t *testing.T) {
			ca, cb := newClient(t, 0), newClient(t, 1)
			a, b := newLock(t, tt.recipe, ca, time.Second), newLock(t, tt.recipe, cb, time.Second)
			lease := acquire(t, a)
			expireNow(t, ca, "k")
			if err := a.Unlock(t.Context(), lease); err != tt.gone {
				t.Errorf("nobody holds it: got %v, want %v", err, tt.gone)
			}
			lease = acquire(t, a)
			expireNow(t, ca, "k")
			acquire(t, b)
			if err := a.Unlock(t.Context(), lease); err != tt.foreign {
				t.Errorf("another holds it: got %v, want %v", err, tt.foreign)
			}
			if survives := life(t, cb, "k") != -2; survives != tt.survives {
				t.Errorf("the other's key survives the release: %t, want %t", survives, tt.survives)
			}
		})
	}
}

// acquire takes a free lock, and ends the test if the attempt fails. It tries again only if the machine was so slow
// that the lease was over before the grant.
func acquire(t *testing.T, l Lock) Lease {
	t.Helper()
	lease, err := l.TryLock(t.Context())
	for errors.Is(err, ErrBusy) && strings.Contains(err.Error(), "when the lease was over") {
		lease, err = l.TryLock(t.Context())
	}
	if err != nil {
		t.Fatalf("acquire a free lock: %v", err)
	}
	return lease
}

// silent lists the recipes that log an error and go on. Their acquire then returns ErrBusy, and
// their release succeeds.
var silent = []string{"reentrant-local"}

func TestALostReplyIsUnknownAndNothingIsSentAgain(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.recipe, func(t *testing.T) {
			for n := range topLevel(p.acquire) {
				c := protocolClient(t, 0)
				l := newLock(t, p.recipe, c, 1500*time.Millisecond)
				loseReply(c, n+1)
				var lease Lease
				var err error
				got := seen(t, func() { lease, err = l.TryLock(t.Context()) })
				checkUnheard(t, p.recipe, err, ErrBusy)
				want := n + 1
				if slices.Contains(together, p.recipe) {
					want = topLevel(p.acquire)
				}
				if sent := topLevel(wire(got)); sent != want {
					t.Errorf("acquire, reply %d lost: %d commands sent, want %d", n+1, sent, want)
				}
				if want := withToken(p.acquire, lease.Token); !slices.Equal(wire(got), want[:len(got)]) {
					t.Errorf("acquire, reply %d lost: the node saw %q, want the beginning of %q", n+1, wire(got), want)
				}
				expireNow(t, c, "k")
			}
			for n := range topLevel(p.release) {
				c := protocolClient(t, 0)
				l := newLock(t, p.recipe, c, 1500*time.Millisecond)
				lease := acquire(t, l)
				loseReply(c, n+1)
				var err error
				got := seen(t, func() { err = l.Unlock(t.Context(), lease) })
				checkUnheard(t, p.recipe, err, nil)
				if sent := topLevel(wire(got)); sent != n+1 {
					t.Errorf("release, reply %d lost: %d commands sent", n+1, sent)
				}
				expireNow(t, c, "k")
			}
		})
	}
}

// topLevel counts the commands that came over the wire.
func topLevel(commands []string) int {
	n := 0
	for _, c := range commands {
		if !strings.HasPrefix(c, "lua ") {
			n++
		}
	}
	return n
}

// checkUnheard checks the error of an operation whose reply was lost. The error must say that the outcome
// is unknown. A recipe listed in silent instead makes up a result, which must be the argument made.
func checkUnheard(t *testing.T, recipe string, err, made error) {
	t.Helper()
	if !slices.Contains(silent, recipe) {
		checkUnknown(t, err)
	} else if !errors.Is(err, made) {
		t.Errorf("got error %v, want %v", err, made)
	}
}

func checkUnknown(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got error %v, want the connection's", err)
	}
	for _, known := range []error{ErrBusy, ErrRefused, ErrNotHeld} {
		if errors.Is(err, known) {
			t.Errorf("a lost reply is told as %q", known)
		}
	}
}

func TestMakersRefuseWhatCannotBeALock(t *testing.T) {
	for _, p := range protocols {
		r, _ := ByID(p.recipe)
		if _, err := r.New(&Client{}); err == nil {
			t.Errorf("%s: a client without a node is accepted", r.ID)
		}
		maker, err := r.New(newClient(t, 0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := maker("", time.Second); err == nil {
			t.Errorf("%s: an empty name is accepted", r.ID)
		}
		if _, err := maker("k", time.Microsecond); err == nil {
			t.Errorf("%s: a lease time below 1ms is accepted", r.ID)
		}
	}
}

func TestTokensAreOfOneAttemptAlone(t *testing.T) {
	for _, recipe := range []string{"set-nx-ex-get-del", "set-nx-px", "fenced"} {
		l := newLock(t, recipe, newClient(t, 0), time.Second)
		first := acquire(t, l)
		if err := l.Unlock(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if second := acquire(t, l); first.Token == second.Token || len(second.Token) != 32 {
			t.Errorf("%s: tokens %q and %q, want two different ones of 32 hex digits", recipe, first.Token, second.Token)
		}
		expireNow(t, newClient(t, 1), "k")
	}
}

func TestRecoveryIsWhatTheRecipeSays(t *testing.T) {
	want := map[string]time.Duration{
		"exists-set": 0, "setnx": 0,
		"setnx-expire-pipeline": 2 * time.Second, "setnx-expire-multi": 2 * time.Second, "lua-setnx-expire-fraction": 2500 * time.Millisecond,
		"setnx-expire": 2 * time.Second, "lua-setnx-expire": 2 * time.Second, "lua-setnx-expire-owner": 2 * time.Second,
		"set-nx-ex": 2 * time.Second, "set-nx-ex-get-del": 2 * time.Second,
		"set-nx-ex-retry": 2 * time.Second, "is-locking-after-lock": 2 * time.Second,
		"getset":             3 * time.Second,
		"setnx-takeover-del": 1500 * time.Millisecond, "set-nx-px": 1500 * time.Millisecond,
		"set-nx-px-watchdog": 2 * time.Second, "set-nx-px-watchdog-reused": 2 * time.Second, "set-nx-ex-bounded-renewal": 2 * time.Second, "redlock-naive": 2 * time.Second,
		"reentrant-local": 2 * time.Second, "reentrant-renewal": 2 * time.Second, "reentrant-hash": 2 * time.Second, "reentrant-hash-watchdog": 2 * time.Second,
		"rw-two-keys": 2 * time.Second, "rw-hash": 4500 * time.Millisecond,
		"redisson": 1500 * time.Millisecond, "redisson-lease": 1500 * time.Millisecond, "redisson-redlock": 3 * time.Second, "redlock": 1500 * time.Millisecond,
		"redlock-drift": 1500 * time.Millisecond, "redlock-delayed-restart": 1500 * time.Millisecond, "fenced": 1500 * time.Millisecond,
		"set-nx-px-wait": 1500 * time.Millisecond, "rw-hash-owners": 1500 * time.Millisecond,
	}
	for id, recovery := range want {
		r, _ := ByID(id)
		if got := r.Claims(1500*time.Millisecond, 1).Recovery; got != recovery {
			t.Errorf("%s: recovery %v after a lease time of 1.5s, want %v", id, got, recovery)
		}
	}
}
