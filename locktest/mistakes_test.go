package locktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// elsewhere does not use Client.Dial: it dials an address where nobody listens.
func elsewhere(*locktest.Client) (locktest.Acquire, error) {
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
		defer rdb.Close()
		return locktest.Held{}, setNX(ctx, rdb, key, "1", ttl)
	}, nil
}

// inMemory is a lock that no simulated node sees, like a lock on a real Redis.
func inMemory(*locktest.Client) (locktest.Acquire, error) {
	return func(context.Context, string, time.Duration) (locktest.Held, error) {
		return locktest.Held{Release: func(context.Context) error { return nil }}, nil
	}, nil
}

// varying is bareDelete with a random value in the key. The value depends on no seed, so that no two
// trials are the same, but it changes no outcome.
func varying(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		return locktest.Held{Release: func(ctx context.Context) error {
			return released(rdb.Del(ctx, key).Result())
		}}, setNX(ctx, rdb, key, fmt.Sprint("holder ", rand.N(1000)), ttl)
	}, nil
}

// For each mistake of a newcomer the output has a line with the remedy.
func TestMistakesOfNewcomersAreTold(t *testing.T) {
	const dial = "must connect with Client.Dial (go-redis: Options.Dialer)"
	for scene, test := range map[string]struct {
		passes bool
		says   []string
	}{
		"elsewhere":    {false, []string{"nobody acquired the lock: Acquire failed: ", "connection refused", dial, "!--- FAIL: TestScene/"}},
		"inMemory":     {false, []string{"clients acquired the lock, but no node saw a command of the lock", dial, "!--- FAIL: TestScene/"}},
		"entersLate":   {false, []string{"the option Reentrant says that a holder can acquire the lock again, but without any fault it waited", "until its own lease had ended", "!lease-outlived"}},
		"givesUp":      {true, []string{"Acquire gave up", "times at once, while its context went on", "the option Blocking is for a lock that waits for its turn"}},
		"waitsUnasked": {true, []string{"Acquire waited up to", "for its turn: the option Blocking tests contexts that end meanwhile"}},
		"varying": {false, []string{
			"not shrunk: ", "the lock does something else each time it runs (math/rand/v2, map order, select): draw from math/rand or an injected source in tests; see docs/determinism.md",
			"a trial that shows it", "it is saved, and runs first from now on",
		}},
	} {
		t.Run(scene, func(t *testing.T) {
			p := play(t, scene, t.TempDir())
			if p.passed != test.passes {
				t.Errorf("passed: %t, want %t; it says\n%s", p.passed, test.passes, p.out)
			}
			p.says(t, test.says...)
		})
	}
}

// A test tells each limit once, with a trial that shows it.
func TestEachLimitIsToldOnce(t *testing.T) {
	p := play(t, "extendedOften", t.TempDir())
	p.says(t, "limit of any lease: exclusion by lease-outlived: A holder that", "The workload extend does so on purpose: ")
	if n := strings.Count(p.out, "limit of any lease: exclusion by lease-outlived"); n != 1 {
		t.Errorf("it is told %d times in\n%s", n, p.out)
	}
	named := regexp.MustCompile(`limit of any lease: exclusion by lease-outlived: .* To see one:\n +go test -v -run '(\S+)' \S+ (-lockstorm\.replay=\S+)`).FindStringSubmatch(p.out)
	if named == nil {
		t.Fatalf("no trial is named in\n%s", p.out)
	}
	if p = play(t, "extendedOften", t.TempDir(), "-test.run="+named[1], named[2]); !p.passed {
		t.Errorf("the replay fails:\n%s", p.out)
	}
	p.says(t, "only limits of any lease", "Which assumption broke", " 1 trial of TestScene")
}

// However many faults show a finding, a run of the test tells it once. Later runs save no further
// trials for it.
func TestAFindingIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	for run := range 2 {
		p := play(t, "bareForAll", dir)
		stories := strings.Count(p.out, "What would have prevented it")
		if lines := strings.Count(p.out, "\n"); stories == 0 || stories > 2 || lines > 160 {
			t.Errorf("run %d: %d stories, %d lines in\n%s", run, stories, lines, p.out)
		}
		p.says(t, "the same as under client-pause", "the lock breaks what it promises under", "exclusion by foreign-delete (client-",
			"exclusion by server-lost-key, resource by server-lost-key: A node that restarts")
	}
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "lockstorm", "TestScene", "*.json"))
	if err != nil || len(files) == 0 || len(files) > 2 {
		t.Errorf("saved are %v, %v", files, err)
	}
}
