package locktest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locktest"
)

// check calls Check, and fails the test if the lock was not tested or failed.
func check(t *testing.T, subject locktest.Subject, options ...locktest.Option) {
	o := locktest.Options{Faults: []string{"none"}, Trials: -1}
	for _, set := range options {
		set(&o)
	}
	r, err := locktest.Check(t.Context(), subject, o)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Error(err)
	}
}

// canceled calls Check with a context that the lock itself ends. The cancellation closes go-redis
// in the middle of a handshake.
func canceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := locktest.Check(ctx, instead(func() { cancel() }), locktest.Options{Faults: []string{"none"}, Trials: -1})
	t.Log(err)
}

func returnsNil(*locktest.Client) (locktest.Acquire, error) { return nil, nil }

func nilReaders(c *locktest.Client) (locktest.Acquire, error) {
	c.Readers(nil)
	return right(c)
}

func panicky(*locktest.Client) (locktest.Acquire, error) { panic("the service has no configuration") }

// instead returns a correct lock that calls do before each attempt.
func instead(do func()) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		acquire, err := right(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			do()
			return acquire(ctx, key, ttl)
		}, err
	}
}

// stuck is a lock whose Acquire waits for a mutex that a timer unlocks a second later.
var stuck = instead(func() {
	var mu sync.Mutex
	mu.Lock()
	time.AfterFunc(time.Second, mu.Unlock)
	mu.Lock()
})

var waitsForNobody = instead(func() { <-make(chan int) })

// Run and Check each report, in one line, a subject that is no lock or that hangs.
func TestInvalidSubjectsAreReported(t *testing.T) {
	for scene, says := range map[string][]string{
		"noSubject":      {"locktest: the Subject is nil: expected a function", "!panic"},
		"noAcquire":      {"locktest: the Subject returned a nil Acquire and no error", "!panic"},
		"noReaders":      {"locktest: Client.Readers was called with nil", "!panic"},
		"panickySubject": {"conduct by panic", "panicked: the service has no configuration (in github.com/lockstorm/lockstorm/locktest_test.panicky, broken_test.go:"},
		"checkedPanicky": {"conduct by panic", "panicked: the service has no configuration (in github.com/lockstorm/lockstorm/locktest_test.panicky, broken_test.go:"},
		"fatalSubject":   {"conduct by panic", "ended its goroutine, by runtime.Goexit or t.Fatal: expected a returned error (in github.com/lockstorm/lockstorm/locktest_test.init.func", ", scenes_test.go:", "!ErrBusy"},
		"fatalAcquire":   {"conduct by panic", "ended its goroutine, by runtime.Goexit or t.Fatal: expected a returned error (in github.com/lockstorm/lockstorm/locktest_test.init.func", ", scenes_test.go:", "!ErrBusy"},
		"checkedNothing": {"locktest: the Subject is nil", "!panic"},
		"checkedStuck":   {"the trial's clock stands still: github.com/lockstorm/lockstorm/locktest_test.init.func", "waits, not for time but for a lock whose owner waits for time (in github.com/lockstorm/lockstorm/locktest_test.init.func", ", broken_test.go:"},
		"waits":          {"conduct by deadlock", "will never come (in github.com/lockstorm/lockstorm/locktest_test.init.func", ", broken_test.go:"},
	} {
		t.Run(scene, func(t *testing.T) {
			p := play(t, scene, t.TempDir(), "-test.short", "-test.timeout=10m")
			if p.passed {
				t.Errorf("it passes:\n%s", p.out)
			}
			p.says(t, says...)
		})
	}
	play(t, "checkedCanceled", t.TempDir(), "-test.timeout=10m").says(t, "context canceled", "!timed out")
}

// A test without trials says why there were none. It fails, unless -skip leaves out all faults or
// its fault cannot strike the lock.
func TestATestWithoutTrialsSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		scene string
		flags []string
		says  []string
	}{
		"no such fault":          {"bareDelete", []string{"-test.run=^TestScene$/^delays$"}, []string{"--- FAIL: TestScene", "nothing was tested: go test -run or -skip chooses none of the faults client-pause, delay"}},
		"no budget":              {"budget", nil, []string{"--- FAIL: TestScene", "nothing was tested: the budget left no time for a trial under any fault (option Budget); it is 1ns"}},
		"no budget, in Check":    {"checkedBriefly", nil, []string{"--- FAIL: TestScene", "nothing was tested: the budget left no time"}},
		"everything is left out": {"bareDelete", []string{"-test.skip=^TestScene$/."}, []string{"--- PASS: TestScene", "nothing was tested: go test -run or -skip chooses none"}},
		"nothing to strike":      {"unscripted", nil, []string{"--- SKIP: TestScene/script-flush", "nothing was tested: script-flush: "}},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, test.scene, t.TempDir(), test.flags...)
			p.says(t, test.says...)
		})
	}
}

// A saved trial tests a promise that the lock made when the trial was saved. If the lock no longer
// makes that promise, the test fails and names the file.
func TestASavedTrialOfAnotherPromiseIsTold(t *testing.T) {
	dir := t.TempDir()
	play(t, "unrenewed", dir)
	saveAs(t, dir, "two-locks")
	p := play(t, "slow", dir)
	if p.passed {
		t.Errorf("it passes:\n%s", p.out)
	}
	p.says(t, "the saved trial is of the workload two-locks, which does not suit this lock: expected the option", "!shows that the lock breaks")
}

// renewing is a correct lock that renews its lease until the release.
func renewing(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	acquire, err := right(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		held, err := acquire(ctx, key, ttl)
		if err != nil {
			return held, err
		}
		background, stop := context.WithCancel(c.Context)
		go func() {
			tick := time.NewTicker(ttl / 3)
			defer tick.Stop()
			for {
				select {
				case <-background.Done():
					return
				case <-tick.C:
				}
				if n, err := compareAndExpire.Run(background, rdb, []string{key}, held.Token, ttl.Milliseconds()).Int64(); err == nil && n == 0 {
					return
				}
			}
		}()
		release := held.Release
		held.Release = func(ctx context.Context) error {
			stop()
			return release(ctx)
		}
		return held, nil
	}, err
}

// If a lock renews its lease and the test does not set the option PromiseRenewal, the output names
// this option.
func TestALockThatRenewsIsToldOfTheOption(t *testing.T) {
	const hint = "the lock renews its lease while it is held: with the option PromiseRenewal"
	for scene, want := range map[string]string{"renewed": hint, "promisedRenewal": "!" + hint, "slow": "!" + hint, "extended": "!" + hint} {
		t.Run(scene, func(t *testing.T) { play(t, scene, t.TempDir()).says(t, want) })
	}
}
