package locks

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAScriptWhoseExpireFailsKeepsItsSetnx(t *testing.T) {
	for _, ttl := range []time.Duration{time.Millisecond, time.Second, 1500 * time.Millisecond, 30 * time.Second} {
		t.Run(ttl.String(), func(t *testing.T) {
			c := newClient(t, 0)
			loadScripts(t, c, setnxThenExpire)
			l := newLock(t, "lua-setnx-expire-fraction", c, ttl)
			var err error
			got := wire(seen(t, func() { _, err = l.TryLock(t.Context()) }))
			if err == nil || !strings.Contains(err.Error(), "value is not an integer or out of range") || errors.Is(err, ErrBusy) {
				t.Errorf("got %v, want the error of EXPIRE, of which nobody knows the outcome", err)
			}
			if len(got) != 3 || got[1] != "lua SETNX k 1" || !strings.HasPrefix(got[2], "lua EXPIRE k ") || !strings.HasSuffix(got[2], ".5") {
				t.Errorf("the node saw %q, want SETNX and an EXPIRE of a fraction", got)
			}
			if left := life(t, c, "k"); left != -1 {
				t.Errorf("the key lives for %v, want one without a life", left)
			}
			if _, err := newLock(t, "lua-setnx-expire-fraction", newClient(t, 1), ttl).TryLock(t.Context()); err != ErrBusy {
				t.Errorf("the next attempt: got %v, want %v", err, ErrBusy)
			}
		})
	}
}
