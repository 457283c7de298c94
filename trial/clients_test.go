package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// enders maps the ids of recipes to the way in which the recipes end their client process.
var enders = map[string]func(){
	"test-ends-panic": func() {
		go func() { panic(fmt.Errorf("lost\nat %p", new(int))) }()
	},
	"test-ends-exit":  func() { os.Exit(3) },
	"test-ends-crowd": func() { panic(errors.New("caught, as it is not in a goroutine of its own")) },
}

func init() { trialtest.RegisterEnders(enders) }

func TestAClientProcessThatTheCodeUnderTestEndsIsAVerdict(t *testing.T) {
	tb, argv := trialtest.OnProcesses(t)
	for lock, want := range map[string]string{
		"test-ends-panic": "panic: lost at 0x… (in github.com/lockstorm/lockstorm/trial.init.func",
		"test-ends-exit":  "the code under test ended its process: exit status 3",
		"test-ends-crowd": "recipe test-ends-crowd panicked: caught, as it is not in a goroutine of its own (in github.com/",
	} {
		t.Run(lock, func(t *testing.T) {
			s := soundSpec()
			s.Lock, s.Testbed, s.Options.Duration = lock, tb.Name(), 500*time.Millisecond
			s.ClientsAs, s.ClientCommand = Processes, argv
			rec := history.NewRecorder(nil, tb.Clock())
			e, broken, err := run(t.Context(), tb, s, rec, receivers{})
			if err != nil || broken == nil {
				t.Fatalf("got %v, %v; want a breakdown", broken, err)
			}
			last := e.Ops[len(e.Ops)-1]
			if last.F != history.FPanic || last.Error != broken.Detail || !strings.HasPrefix(last.Error, "client ") || !strings.Contains(last.Error, want) {
				t.Errorf("last entry is %+v, want %q", last, want)
			}
		})
	}
}

// endsIn is an environment variable with a directory. A client of the recipe test-tells-its-end puts a file
// there when the context of an acquire ends.
const endsIn = "LOCKSTORM_ENDS_IN"

// endTeller is a lock that tells the end of its contexts.
type endTeller struct {
	locks.Lock
	client string
}

// TryLock implements locks.Lock.
func (l endTeller) TryLock(ctx context.Context) (locks.Lease, error) {
	context.AfterFunc(ctx, func() { _ = os.WriteFile(filepath.Join(os.Getenv(endsIn), l.client), nil, 0o600) })
	return l.Lock.TryLock(ctx)
}

func init() {
	r, _ := locks.ByID("set-nx-px")
	of := r.New
	r.ID, r.Document = "test-tells-its-end", "tests"
	r.New = func(c *locks.Client) (locks.Maker, error) {
		m, err := of(c)
		return func(key string, ttl time.Duration) (locks.Lock, error) {
			l, err := m(key, ttl)
			return endTeller{l, c.ID}, err
		}, err
	}
	locks.Register(r)
}

// A client process lives until its trial is over, but its locks' background work must end with the client.
func TestTheLocksOfAClientProcessEndWithTheClient(t *testing.T) {
	tb, argv := trialtest.OnProcesses(t)
	dir := t.TempDir()
	t.Setenv(endsIn, dir)
	s := soundSpec()
	s.Lock, s.Testbed, s.Options.Duration = "test-tells-its-end", tb.Name(), 500*time.Millisecond
	s.ClientsAs, s.ClientCommand = Processes, argv
	_, broken, err := run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), receivers{})
	if broken != nil || err != nil {
		t.Fatalf("got %v, %v", broken, err)
	}
	ended, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(ended) == 0 { // a client may be killed before it has written its file
		t.Errorf("the locks of none of %d clients have ended", s.Options.Clients)
	}
}

func TestClientProcessesThatCannotBeStartedAreNoFinding(t *testing.T) {
	tb, _ := trialtest.OnProcesses(t)
	for want, command := range map[string][]string{"no such file": {"/none/such"}, "exit status 1": {"false"}, "no program": nil} {
		s := soundSpec()
		s.Testbed = tb.Name()
		s.ClientsAs, s.ClientCommand = Processes, command
		_, broken, err := run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), receivers{})
		if broken != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, %v; want %q", command, broken, err, want)
		}
	}
}

// If several clients break down at once, the trial's breakdown is the one that ended the history,
// even if the testbed returns the error of another.
func TestATrialIsToldToHaveBrokenDownAsItsHistoryEnds(t *testing.T) {
	rec := history.NewRecorder(nil, func() time.Duration { return 0 })
	first := &testbed.Breakdown{Kind: history.FPanic, Detail: "client 1: first"}
	if err := rec.End(first.Event(), 0); err != nil {
		t.Fatal(err)
	}
	r := &running{rec: rec, broken: &testbed.Breakdown{Kind: history.FPanic, Detail: "client 0: second", Stack: "s"}}
	if err := r.over(r.broken); err != nil || r.broken.Detail != first.Detail || r.broken.Stack != "s" {
		t.Errorf("got %v, broken %+v, want %q", err, r.broken, first.Detail)
	}
}
