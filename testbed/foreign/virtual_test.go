package foreign_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// python is the interpreter itself: python3 in $PATH may be a script that starts it.
const python = "/usr/bin/python3"

func command(t *testing.T, mode ...string) []string {
	t.Helper()
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("NOT TESTED: the clients of this test are in Python (make setup installs it): %v", err)
	}
	return append([]string{python, "testdata/lock.py"}, mode...)
}

// simulate runs a body in a simulation and returns its commands.
func simulate(t *testing.T, clients int, body func(context.Context, testbed.Env) error) (commands string, err error) {
	t.Helper()
	tb := sim.New()
	var all []history.Command
	err = tb.Run(t.Context(), testbed.Setup{
		Topology: testbed.Single, Clients: clients, Seed: 3, Limit: time.Hour, CommandTimeout: time.Second,
		Clock: tb.Clock(), Commands: func(c history.Command) { all = append(all, c) },
	}, body)
	text, jerr := json.Marshal(all)
	if jerr != nil {
		t.Fatal(jerr)
	}
	return string(text), err
}

// clash lets two clients take the same lock in turn.
func clash(argv []string) func(context.Context, testbed.Env) error {
	return func(ctx context.Context, env testbed.Env) error {
		var all []locks.Lock
		for i := range 2 {
			make, _, err := foreign.Start(env.Client(i).Locks(), argv)
			if err != nil {
				return err
			}
			l, err := make("job", time.Second)
			if err != nil {
				return err
			}
			all = append(all, l)
		}
		for range 3 {
			lease, err := all[0].TryLock(ctx)
			if err != nil {
				return err
			}
			if _, err := all[1].TryLock(ctx); !errors.Is(err, locks.ErrBusy) {
				return errors.New("the second client got a lock that is held")
			}
			time.Sleep(10 * time.Millisecond)
			if err := all[0].Unlock(ctx, lease); err != nil {
				return err
			}
			lease, err = all[1].TryLock(ctx)
			if err != nil {
				return err
			}
			time.Sleep(2 * time.Second) // of virtual time: the lease ends
			if err := all[1].Unlock(ctx, lease); !errors.Is(err, locks.ErrNotHeld) {
				return errors.New("released a lease that had ended")
			}
		}
		return nil
	}
}

func TestTheSameTrialOfAnotherLanguageIsTheSameTwice(t *testing.T) {
	// The second connects in a thread of its own; the third starts another program while it is connected; the last
	// closes its connection past the C library.
	for _, mode := range []string{"", "thread", "helper", "raw"} {
		argv := command(t, mode)
		first, err := simulate(t, 2, clash(argv))
		if err != nil {
			t.Fatal(err)
		}
		second, err := simulate(t, 2, clash(argv))
		if err != nil {
			t.Fatal(err)
		}
		if first != second || strings.Count(first, "EVAL") < 6 {
			t.Errorf("the commands differ, or are too few:\n%s\n%s", first, second)
		}
	}
}

func TestWhatAClientDoesWrongIsSaidInOneLine(t *testing.T) {
	for mode, want := range map[string]string{
		"early":   "before it was ready: expected ready first",
		"prose":   "one JSON object a line",
		"exit":    "exit status 3",
		"flood":   "a line of more than",
		"mute":    "not ready after 20s",
		"stuck":   "not ready after 20s",
		"past":    "use --testbed process",
		"fork":    "a process that the client has started waits, or connects to a node",
		"spawn":   "a process that the client has started waits, or connects to a node",
		"timer":   "a timer of the system (alarm, setitimer and the like) is set",
		"timerfd": "a timer of the system (alarm, setitimer and the like) is set",
		"c11":     "a thread of C11 (thrd_create) is started",
		"exec":    "use --testbed process",
	} {
		_, err := simulate(t, 1, func(_ context.Context, env testbed.Env) error {
			_, _, err := foreign.Start(env.Client(0).Locks(), command(t, mode))
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", mode, err, want)
		}
		if mode != "past" && err != nil && !strings.Contains(err.Error(), "on stderr") {
			t.Errorf("%s: got %v, want the end of the client's standard error", mode, err)
		}
	}
	if _, _, err := foreign.Start(&locks.Client{Rand: strings.NewReader("12345678"), Context: t.Context()}, []string{"/no/such/program"}); err == nil {
		t.Error("a program that does not exist was started")
	}
}
