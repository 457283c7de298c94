package locks

import (
	"errors"
	"regexp"
	"testing"
	"time"
)

func TestLuaOwnerHandleRefusesWithoutAskingRedis(t *testing.T) {
	l := newLock(t, "lua-setnx-expire-owner", newClient(t, 0), time.Second)
	refused := func(what string, do func() error) {
		t.Helper()
		var err error
		commands := seen(t, func() { err = do() })
		if !errors.Is(err, ErrRefused) || len(commands) != 0 {
			t.Errorf("%s: got %v after %q, want %v and nothing sent", what, err, wire(commands), ErrRefused)
		}
	}
	refused("release of an unlocked handle", func() error { return l.Unlock(t.Context(), Lease{}) })
	lease := acquire(t, l)
	refused("acquire of a locked handle", func() error { _, err := l.TryLock(t.Context()); return err })
	if err := l.Unlock(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	refused("second release", func() error { return l.Unlock(t.Context(), lease) })
}

func TestLuaOwnerValueIsMadeOncePerHandle(t *testing.T) {
	c := newClient(t, 0)
	c.Now = fixedClock
	l := newLock(t, "lua-setnx-expire-owner", c, time.Second)
	first := acquire(t, l)
	if err := l.Unlock(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := acquire(t, l)
	if first.Token != second.Token {
		t.Errorf("values %q and %q of one handle, want one", first.Token, second.Token)
	}
	if !regexp.MustCompile(`^[0-9a-f-]{36}\.1000000$`).MatchString(first.Token) {
		t.Errorf("value %q, want UUID.milliseconds", first.Token)
	}
	if other := newLock(t, "lua-setnx-expire-owner", c, time.Second).(*luaSetnxExpireOwner); other.value == first.Token {
		t.Errorf("two handles share the value %q", other.value)
	}
}

func TestLuaOwnerLateReleaseDeletesTheHandlesNextLease(t *testing.T) {
	c := newClient(t, 0)
	l := newLock(t, "lua-setnx-expire-owner", c, time.Second)
	first := acquire(t, l)
	loseReply(c, 1) // loses NOSCRIPT, the reply to EVALSHA: the script did not run on the node
	if err := l.Unlock(t.Context(), first); err == nil {
		t.Fatal("a release without a reply is told as done")
	}
	expireNow(t, c, "k")
	acquire(t, l) // the handle counts as unlocked
	if err := compareAndDelete.Run(t.Context(), newClient(t, 1).Nodes[0], []string{"k"}, first.Token).Err(); err != nil {
		t.Fatal(err)
	}
	if got := life(t, c, "k"); got != -2 {
		t.Errorf("the next lease's key lives for %v after the late release, want it gone", got)
	}
}
