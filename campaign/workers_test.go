package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// killers are recipes that end the process in which they run, at the third
// attempt of a client.
var killers = map[string]func(){
	"test-kills-panic": func() {
		go func() { panic(fmt.Errorf("lost\nat %p", new(int))) }()
	},
	"test-kills-nil": func() {
		var none *locks.Lease
		go func() { none.Token = "t" }()
	},
	"test-kills-exit":  func() { os.Exit(3) },
	"test-kills-crowd": func() { panic(errors.New("caught, as it is not in a goroutine of its own")) },
	"test-kills-hang": func() {
		//lint:ignore SA5002 this is what it is for
		for {
		}
	},
	"test-kills-flood": func() {
		line := strings.Repeat("x", 1<<16)
		for range 40 {
			fmt.Fprintln(os.Stderr, line)
		}
		go func() { panic("at last") }()
	},
	"test-kills-orphan": orphan,
	"test-kills-leave":  func() { go func() { select {} }() },
	"test-kills-answer": func() { _, _ = os.NewFile(answersFile, "answers").WriteString("{\n") },
	"test-kills-once":   func() { go once(os.Getenv("LOCKSTORM_TEST_ONCE")) },
	"test-kills-clock": func() {
		var mu sync.Mutex
		go func() {
			mu.Lock()
			time.Sleep(time.Second)
			mu.Unlock()
		}()
		time.Sleep(time.Millisecond)
		mu.Lock()
	},
	"test-kills-talk": func() { fmt.Print(`lockstorm:{"done":`) },
}

func init() {
	for id, kill := range killers {
		locks.Register(locks.Recipe{
			ID: id, Document: "tests", Summary: "ends its process", Topology: locks.Single,
			Claims: func(ttl time.Duration, _ int) history.Claims {
				return history.Claims{Quorum: 1, TTL: ttl, Recovery: ttl}
			},
			New: func(c *locks.Client) (locks.Maker, error) {
				return func(key string, _ time.Duration) (locks.Lock, error) {
					return &killer{redis: c, key: key, kill: kill}, nil
				}, nil
			},
		})
	}
}

type killer struct {
	redis    *locks.Client
	key      string
	kill     func()
	attempts int
}

func (k *killer) TryLock(ctx context.Context) (locks.Lease, error) {
	if k.attempts++; k.attempts == 3 {
		k.kill()
	}
	if err := k.redis.Nodes[0].Set(ctx, k.key, k.redis.ID, time.Second).Err(); err != nil {
		return locks.Lease{}, err
	}
	return locks.Lease{}, locks.ErrBusy
}

func (k *killer) Unlock(context.Context, locks.Lease) error { return locks.ErrNotHeld }

// forked returns workers that are this test program.
func forked(t *testing.T, n int) *processes {
	t.Helper()
	t.Setenv(asWorker, "1")
	p := newProcesses([]string{os.Args[0]}, n)
	t.Cleanup(p.close)
	return p
}

// killerTask is a trial of a recipe without any fault.
func killerTask(t *testing.T, lock string) task {
	s := soundSpec()
	s.Lock, s.Testbed = lock, "sim"
	return task{Spec: s, Folder: filepath.Join(t.TempDir(), "trials", lock, "none", "mutex-0")}
}

func TestATrialThatEndsItsWorkerIsAVerdict(t *testing.T) {
	tests := map[string]struct{ f, detail string }{
		"test-kills-panic": {history.FPanic, `panic: lost at 0x… (in github.com/lockstorm/lockstorm/campaign.init.func`},
		"test-kills-nil":   {history.FPanic, "panic: runtime error: invalid memory address or nil pointer dereference (in github.com/"},
		"test-kills-exit":  {history.FPanic, "the code under test ended its process: exit status 3"},
		"test-kills-crowd": {history.FPanic, "client 1: recipe test-kills-crowd panicked: caught, as"},
		"test-kills-hang":  {history.FRunaway, "the trial did not come to an end within 3s of processor time"},
		"test-kills-flood": {history.FPanic, "panic: at last (in github.com/"},
	}
	p := forked(t, 1)
	p.limit = 3 * time.Second
	for _, lock := range slices.Sorted(maps.Keys(tests)) {
		t.Run(lock, func(t *testing.T) {
			task := killerTask(t, lock)
			d, err := p.run(t.Context(), task, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d.Trial.Outcome != Violated || d.Trial.Flaws[0].Oracle != "conduct" || !d.Kept || d.Trial.Err != "" {
				t.Errorf("trial is %+v", d.Trial)
			}
			r, err := LoadJudged(task.Folder)
			if err != nil || r.Differs != nil {
				t.Fatal(err, r.Differs)
			}
			ops := r.Evidence.Ops
			if last := ops[len(ops)-1]; len(ops) < 5 || len(r.Evidence.Commands) == 0 || last.F != tests[lock].f || !strings.HasPrefix(last.Error, tests[lock].detail) {
				t.Errorf("%d entries and %d commands, the last is %+v, want %s: %s…", len(ops), len(r.Evidence.Commands), last, tests[lock].f, tests[lock].detail)
			}
			if _, err := os.Stat(filepath.Join(task.Folder, GoroutinesFile)); err != nil && lock != "test-kills-exit" {
				t.Error(err)
			}
		})
	}
	if d, err := p.run(t.Context(), killerTask(t, "set-nx-px"), nil); err != nil || d.Trial.Outcome != Holds {
		t.Errorf("the worker was not replaced: %+v, %v", d.Trial, err)
	}
}

func TestATrialWhoseClockStandsStillIsNoVerdict(t *testing.T) {
	if _, ok := cpuTime(os.Getpid()); !ok {
		t.Skip("nobody knows what a process does on this system")
	}
	p := forked(t, 1)
	d, err := p.run(t.Context(), killerTask(t, "test-kills-clock"), nil)
	if want := standstill + ": github.com/lockstorm/lockstorm/campaign."; err != nil || !strings.HasPrefix(d.Trial.Err, want) || d.Trial.Outcome != Unknown {
		t.Errorf("trial is %+v, %v; want %q…", d.Trial, err, want)
	}
}

func TestWhatARecipePrintsDoesNotDisturbItsWorker(t *testing.T) {
	p := forked(t, 1)
	if d, err := p.run(t.Context(), killerTask(t, "test-kills-talk"), nil); err != nil || d.Died || d.Trial.Err != "" {
		t.Errorf("died %v, %v, %s", d.Died, err, d.Trial.Err)
	}
}

func TestAnInterruptLeavesNoWorkerBehind(t *testing.T) {
	p := forked(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.run(ctx, killerTask(t, "set-nx-px"), nil); err != nil {
		t.Fatal(err)
	}
	w := <-p.idle
	p.idle <- w
	pid := w.cmd.Process.Pid
	time.AfterFunc(300*time.Millisecond, cancel)
	if _, err := p.run(ctx, killerTask(t, "test-kills-hang"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("worker %d is still there: %v", pid, err)
	}
}

func TestAWorkerThatIsNoneIsAnError(t *testing.T) {
	for want, argv := range map[string][]string{"exit status": {"false"}, "no such file": {"/none/such"}} {
		p := newProcesses(argv, 1)
		if _, err := p.run(t.Context(), killerTask(t, "set-nx-px"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", argv, err, want)
		}
		p.close()
	}
}

func TestResultsDoNotDependOnWorkersOrOrder(t *testing.T) {
	t.Setenv(asWorker, "1")
	matrix := func(parallel int, worker ...string) string {
		c := Campaign{Config: DefaultConfig(), Testbed: sim.New(), Worker: worker}
		c.Config.Locks, c.Config.Faults = []string{"setnx-expire", "set-nx-px"}, []string{undisturbed, "client-pause", "reset"}
		c.Config.Testbed, c.Config.Store, c.Config.Trials, c.Config.Parallel = "sim", t.TempDir(), 2, parallel
		s, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Repeated < 10 || s.Virtual() < time.Minute {
			t.Errorf("%d trials repeated, %v of virtual time", s.Repeated, s.Virtual())
		}
		data, err := os.ReadFile(filepath.Join(s.Dir, MatrixFile))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(string(data), s.Dir, "", 1)
	}
	want := matrix(1)
	for name, got := range map[string]string{"three at a time": matrix(3), "two processes": matrix(2, os.Args[0])} {
		if got != want {
			t.Errorf("%s: matrix is\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestAReplayDoesWhatTheCampaignDid(t *testing.T) {
	c := Campaign{Config: DefaultConfig(), Testbed: sim.New()}
	c.Config.Locks, c.Config.Faults = []string{"setnx-expire"}, []string{undisturbed, "client-pause"}
	c.Config.Testbed, c.Config.Store, c.Config.Trials = "sim", t.TempDir(), 3
	s, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range s.Trials {
		spec, err := PlanTrial(t.Context(), sim.New(), c.Config, was.Spec.Lock, was.Spec.Fault, was.Spec.Workload, was.Spec.Trial)
		if err != nil {
			t.Fatal(err)
		}
		var logged int
		dir := filepath.Join(t.TempDir(), "again")
		got, e, err := Replay{Testbed: sim.New(), Spec: spec, Dir: dir, Log: func(history.Command) { logged++ }}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash != was.Hash || got.Outcome != was.Outcome || history.Hash(e) != was.Hash || logged != was.Commands {
			t.Errorf("trial %d under %s: %s, %s, %d commands logged; want %s, %s and %d", was.Spec.Trial, was.Spec.Fault,
				got.Hash, got.Outcome, logged, was.Hash, was.Outcome, was.Commands)
		}
		if _, err := LoadRecord(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyTrialsThatExistCanBePlanned(t *testing.T) {
	tests := map[string]struct {
		lock, fault, workload string
		k                     int
	}{
		`unknown lock "x"`:     {"x", undisturbed, "mutex", 0},
		`unknown fault "x"`:    {"redlock", "x", "mutex", 0},
		`unknown workload "x"`: {"redlock", undisturbed, "x", 0},
		"--trial -1":           {"redlock", undisturbed, "mutex", -1},
		"cannot strike":        {"redlock", "failover", "mutex", 0},
		"none of the chosen":   {"redlock", undisturbed, "read-write", 0},
		"one lock, fault and":  {"redlock*", undisturbed, "mutex", 0},
	}
	for want, test := range tests {
		_, err := PlanTrial(t.Context(), sim.New(), DefaultConfig(), test.lock, test.fault, test.workload, test.k)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an InputError with %q", err, want)
		}
	}
}

func TestTheHarnesssOwnPanicIsNoVerdict(t *testing.T) {
	stderr := func(function, file string) string {
		return "log\npanic: boom [recovered, repanicked]\n\ngoroutine 7 [running, synctest bubble 3]:\npanic({0x1?, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n" +
			"example.org/x.(*T).f.func1()\n\t/x/x.go:1 +0x1\npanic({0x1?, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n" + function + "(0x1, {0x2, 0x3})\n\t" + file + ":12 +0x1d\n\ngoroutine 8 [select]:\n"
	}
	tests := map[string]struct {
		function, file string
		ours           bool
	}{
		"a library's": {"github.com/redis/go-redis/v9.(*Client).Get", "/r/redis.go", false},
		"a recipe's":  {"github.com/lockstorm/lockstorm/locks.(*redlock).TryLock", "/l/redlock.go", false},
		"a user's":    {"github.com/lockstorm/lockstorm/locks_test.f", "/l/user_test.go", false},
		"ours":        {"github.com/lockstorm/lockstorm/testbed/sim.(*world).x", "/l/sim.go", true},
	}
	for name, test := range tests {
		d := &death{stderr: stderr(test.function, test.file), how: "exit status 2", exited: true}
		b, err := d.breakdown()
		if (err != nil) != test.ours || (b == nil) != test.ours {
			t.Fatalf("%s: %v, %v", name, b, err)
		}
		if want := fmt.Sprintf("panic: boom (in %s, %s:12)", test.function, filepath.Base(test.file)); b != nil && (b.Detail != want || b.Kind != history.FPanic) {
			t.Errorf("%s: %+v, want %q", name, b, want)
		}
	}
	if b, err := (&death{how: "signal: killed"}).breakdown(); err == nil {
		t.Errorf("killed by somebody else: %v", b)
	}
	if b, _ := (&death{stderr: "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select]:\nmain.main()\n\t/m.go:1 +0x1\n", exited: true}).breakdown(); b == nil || b.Kind != history.FDeadlock {
		t.Errorf("deadlock: %+v", b)
	}
}
