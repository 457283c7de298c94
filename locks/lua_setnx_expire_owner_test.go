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
