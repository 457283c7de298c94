package external

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

func TestWhatAKilledProgramLeavesIsRemovedByItsPrefix(t *testing.T) {
	s := redistest.Test(t, "--databases", "2")
	o := Options{Addrs: []string{"redis://" + s.Addr() + "/1"}, Own: true}
	c := admin(t, &redis.Options{Addr: s.Addr(), DB: 1})
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for range 2 {
		err := runOn(t.Context(), tb, testbed.Setup{}, func(ctx context.Context, e testbed.Env) error {
			err := setGet(ctx, e)
			keys := c.Keys(ctx, family+"*").Val()
			for _, key := range keys {
				err = errors.Join(err, c.Set(ctx, "theirs:"+strings.TrimPrefix(key, tb.Prefix()), 0, 0).Err())
			}
			left = append(left, keys...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(left) != 2 || left[0] == left[1] || !strings.HasPrefix(left[0], tb.Prefix()) || !strings.HasPrefix(left[1], tb.Prefix()) {
		t.Fatalf("two trials had %q, want one each that begins with %s", left, tb.Prefix())
	}
	// Set the keys of the two trials again, as if the program had been killed. Also set a key of
	// another program, which is alive.
	alive := newPrefix() + "1:k"
	for _, key := range append(left, alive) {
		if err := c.Set(t.Context(), key, 0, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Clean(t.Context(), o, tb.Prefix()); n != 2 || err != nil {
		t.Errorf("removed %d keys, %v, want 2", n, err)
	}
	if keys := c.Keys(t.Context(), family+"*").Val(); !slices.Equal(keys, []string{alive}) {
		t.Errorf("there are %q, want %q alone", keys, alive)
	}
	if n := c.DBSize(t.Context()).Val(); n != 3 {
		t.Errorf("there are %d keys, want 3", n)
	}
}

func TestAKeyIsRemovedOnce(t *testing.T) {
	c := admin(t, &redis.Options{Addr: redistest.Test(t).Addr()})
	for _, name := range []string{"UNLINK", "DEL"} {
		if name == "DEL" {
			if err := c.Do(t.Context(), "ACL", "SETUSER", "default", "-unlink").Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Set(t.Context(), "k", 0, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := remove(t.Context(), c, []string{"k", "k", "other"}); n != 1 || err != nil {
			t.Errorf("%s: removed %d, %v, want 1", name, n, err)
		}
	}
}

// TestThatKeysCannotBeLookedThroughIsSaid uses a server that removes the keys with known names, and
// then hangs up, or refuses to count its keys.
func TestThatKeysCannotBeLookedThroughIsSaid(t *testing.T) {
	for answer, want := range map[string]error{"": io.EOF, "-ERR broken\r\n": errors.New("ERR broken"), "-NOPERM no\r\n": nil} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serving.Go(func() { defer c.Close(); answerUntilCounted(c, answer) })
			}
		})
		s := newServer(target{addr: l.Addr().String()}, "p:")
		err = errors.Join(s.Clean([]string{"p:k"}), s.Close())
		if want == nil && err != nil || want != nil && (err == nil || !strings.Contains(err.Error(), "may be left with up to 1 keys") ||
			!strings.Contains(err.Error(), want.Error())) {
			t.Errorf("answer %q: got %v, want %v", answer, err, want)
		}
		l.Close()
		serving.Wait()
	}
}

// answerUntilCounted serves a connection like a server without keys. It answers DBSIZE with answer;
// if answer is "", it hangs up instead.
func answerUntilCounted(c net.Conn, answer string) {
	for in := resp.NewReader(c); ; {
		m, err := resp.Read(in)
		if err != nil {
			return
		}
		args, err := m.Args()
		reply := "-ERR unknown command\r\n" // the answer of old servers to HELLO
		switch resp.Name(args) {
		case "UNLINK":
			reply = ":0\r\n"
		case "DBSIZE":
			reply = answer
		}
		if _, werr := io.WriteString(c, reply); err != nil || werr != nil || reply == "" {
			return
		}
	}
}

func TestOnlyAWholePrefixIsCleaned(t *testing.T) {
	for _, prefix := range []string{"", "*", family, family + "*", family + "0123456789abcde:", family + "0123456789abcdef:1:"} {
		if n, err := Clean(t.Context(), Options{Addrs: []string{"127.0.0.1:1"}}, prefix); n != 0 || err == nil || !strings.Contains(err.Error(), "expected lockstorm:") {
			t.Errorf("%q: got %d, %v, want it refused", prefix, n, err)
		}
	}
}
