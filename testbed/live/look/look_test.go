package look_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed/live/look"
)

// at starts a server with the options, and returns a Looker and a client of the server.
func at(t *testing.T, args ...string) (*look.Looker, *redis.Client) {
	t.Helper()
	s, err := redisserver.Start(t.Context(), redisserver.Options{Dir: t.TempDir(), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	l, err := look.New(conn, look.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	t.Cleanup(func() { c.Close() })
	return l, c
}

func clock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// TestAKeyIsSeenWhoeverGuessesIt checks that a look finds a key, with its content, whether or not
// the key was among the likely ones.
func TestAKeyIsSeenWhoeverGuessesIt(t *testing.T) {
	l, c := at(t)
	for _, likely := range [][]string{nil, {"k"}, {"other", "k"}} {
		for kind, make := range map[string]func(key string){
			"string": func(key string) { c.Set(t.Context(), key, "v", time.Hour) },
			"hash":   func(key string) { c.HSet(t.Context(), key, "f", "v") },
			"list":   func(key string) { c.RPush(t.Context(), key, "v") },
			"set":    func(key string) { c.SAdd(t.Context(), key, "v") },
			"zset":   func(key string) { c.ZAdd(t.Context(), key, redis.Z{Member: "v"}) },
			"stream": func(key string) { c.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: []string{"f", "v"}}) },
		} {
			c.FlushAll(t.Context())
			make("k")
			make("not likely")
			s, err := l.Look(likely, clock())
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			for _, key := range []string{"k", "not likely"} {
				if k := s.Keys[key]; k.Content == nil || k.Content.Type != kind || (k.Ends > 0) != (kind == "string") {
					t.Errorf("%s %s: got %+v of %d keys", kind, key, k, len(s.Keys))
				} else if kind == "stream" && !strings.HasSuffix(string(k.Content.Members[0]), " f v") {
					t.Errorf("got the entry %q, want f v after its id", k.Content.Members[0])
				}
			}
		}
	}
}

// TestEndsAreReckonedWhereTheyAreNotTold uses a server without PEXPIRETIME, as before Redis 7.0.
func TestEndsAreReckonedWhereTheyAreNotTold(t *testing.T) {
	l, c := at(t, "--rename-command", "PEXPIRETIME", "")
	end := time.Now().Add(time.Hour)
	c.Do(t.Context(), "SET", "k", "v", "PXAT", end.UnixMilli())
	s, err := l.Look([]string{"k"}, clock())
	if err != nil || !l.Reckons() {
		t.Fatalf("%v, reckons: %v", err, l.Reckons())
	}
	// On a busy machine the server may be held up between the answers that the end is reckoned from.
	if got := s.Keys["k"].Ends; got < end.Add(-time.Second).UnixMilli() || got > end.Add(time.Second).UnixMilli() {
		t.Errorf("got an end at %d, want %d", got, end.UnixMilli())
	}
}

func TestARefusalNamesTheCommand(t *testing.T) {
	for _, command := range []string{"TYPE", "GETRANGE", "DBSIZE", "TIME", "MULTI", "KEYS"} {
		l, c := at(t, "--rename-command", command, "")
		c.Set(t.Context(), "k", "v", 0)
		_, err := l.Look([]string{"likely"}, clock())
		if !errors.Is(err, look.ErrRefused) || !strings.HasPrefix(err.Error(), command+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("without %s: got %v", command, err)
		}
	}
}

func TestTooManyClientsAreARefusal(t *testing.T) {
	s, err := redisserver.Start(t.Context(), redisserver.Options{Dir: t.TempDir(), Args: []string{"--maxclients", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	fmt.Fprint(first, "PING\r\n")
	if _, err := first.Read(make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if l, err := look.New(conn, look.Options{}); !errors.Is(err, look.ErrRefused) {
		if err == nil {
			l.Close()
		}
		t.Errorf("got %v", err)
	}
}
