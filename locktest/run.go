package locktest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// errBubble refuses a call from a bubble of testing/synctest, where time is already virtual.
var errBubble = errors.New("locktest: this is a bubble of testing/synctest: trials make their own; call locktest outside of synctest.Test")

// Run tests a lock under every fault, each in a subtest that has the fault's name. A fault's test
// fails if the lock breaks a promise or a property that its own commands could have kept.
// Violations that no lease can prevent are logged as limits (go test -v). A failure tells the
// smallest trial found, what would have prevented the violation, and the command that runs the
// trial again. Run saves that trial below testdata/lockstorm and runs it first next time.
//
// Trials run in processes of their own, which execute this test binary again. Each process runs the
// test up to this call of Run and then serves trials. So the code before the call runs once in each
// process, and the code after the call runs in this process only. A test may call Run several
// times, also in parallel tests and in subtests, but always in the same order and never in a bubble
// of testing/synctest.
//
// Worker processes exit inside Run. They do not execute deferred calls, Cleanup functions, or the
// code after m.Run in TestMain. So before Run a test must not start anything that outlives a
// process, such as a container or a file that has to be removed.
func Run(t *testing.T, subject Subject, options ...Option) {
	t.Helper()
	switch {
	case subject == nil:
		t.Fatal(errNoSubject)
	case crash.Bubble() != "":
		t.Fatal(errBubble)
	}
	var o Options
	for _, set := range options {
		set(&o)
	}
	o.Seed, o.Replay = seed(o), cmp.Or(*replayFlag, o.Replay)
	o.short()
	o, err := o.filled()
	if err != nil {
		t.Fatal(err)
	}
	l := lock{name: t.Name(), make: subject, Options: o}
	call := callsOf(t)
	if mine, ok := os.LookupEnv(workerEnv); ok {
		if mine == workerName(t, call) {
			l.serve()
		}
		return // this process serves another call of Run in this test
	}
	defer claim(l.name)()
	defer l.register()()
	r := &runner{t: t, dir: testdata(t.Name(), call), replay: o.Replay, tests: map[string]string{}}
	if r.session, err = r.processes(l, call); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.session.close(); err != nil {
			t.Error(err)
		}
	}()
	r.session.pool.out = os.Stderr
	r.all()
}

// runner is one call of Run.
type runner struct {
	t       *testing.T
	session *session
	dir     string // the directory of saved trials
	replay  string // Options.Replay, or the flag -lockstorm.replay
	// replayed: the trial that replay names has run.
	replayed bool
	saved    []rerunTrial
	tests    map[string]string // names of the subtests, by fault
}

// processes returns a session whose workers are processes of this test binary. Each of them runs this
// test.
func (r *runner) processes(l lock, call int) (*session, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("locktest: %w", err)
	}
	parallel := runtime.GOMAXPROCS(0)
	s, err := newSession(l, worker.NewProcesses(append([]string{path}, arguments(r.t)...), []string{workerEnv + "=" + workerName(r.t, call)}, parallel), parallel)
	if err == nil {
		s.tries = true
	}
	return s, err
}

// arguments returns the arguments with which the test binary runs only this test.
func arguments(t *testing.T) []string {
	args := []string{"-test.run=" + pattern(t.Name())}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	return append(args, ownFlags()...)
}

// ownFlags returns those flags of the command line that the tests themselves declare, and the
// arguments after the flags.
func ownFlags() (args []string) {
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && !strings.HasPrefix(f.Name, "lockstorm.") {
			args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	if flag.NArg() > 0 {
		args = append(append(args, "--"), flag.Args()...)
	}
	return args
}

// all opens the session, runs the subtests and logs the results.
func (r *runner) all() {
	t, s := r.t, r.session
	t.Helper()
	ctx, cancel := r.context()
	defer cancel()
	began := time.Now()
	if err := s.open(ctx); err != nil {
		t.Error(cmp.Or(context.Cause(ctx), err))
		return
	}
	if r.replay == "" {
		if err := r.loadSaved(); err != nil {
			t.Error(err)
			return
		}
	}
	s.faultsLeft = chosen(t.Name(), value("test.run"), value("test.skip"), s.plan.Faults())
	result, ran := &Result{Hints: s.hints()}, 0
	for _, fault := range r.savedFirst() {
		t.Run(fault, func(t *testing.T) {
			ran++
			r.tests[fault] = t.Name()
			r.fault(ctx, t, fault, result)
		})
	}
	if r.replay != "" && !r.replayed && !t.Failed() {
		t.Errorf("locktest: there is no trial %q under the faults that ran", r.replay)
	}
	result.Elapsed = time.Since(began)
	for _, h := range result.Hints {
		t.Log(h)
	}
	for _, line := range slices.Concat(result.limitLines(r.commandFor), result.violationLines()) {
		t.Log(line)
	}
	t.Logf("%d %s of %s in %.1f s", result.Trials, wording.Plural(result.Trials, "trial"), t.Name(), result.Elapsed.Seconds())
	if r.replay == "" && !t.Failed() {
		r.checkTested(result, ran)
	}
}

// checkTested fails the test if a pattern of -run matches no fault, if the budget is too small, or if
// trials ran and none was decided. A passing test would hide that nothing was tested. With -skip, or
// if no fault can strike the lock, checkTested only logs that nothing was tested. It never skips the
// test, because other calls of Run may follow.
func (r *runner) checkTested(result *Result, ran int) {
	t := r.t
	t.Helper()
	lack, fails, byBudget := result.untested()
	switch {
	case ran == 0:
		fails = value("test.skip") == ""
		lack = "nothing was tested: go test -run or -skip chooses none of the faults " + strings.Join(r.session.plan.Faults(), ", ")
	case byBudget:
		lack += fmt.Sprintf("; it is %v", r.session.Options.Budget)
	}
	switch {
	case fails:
		t.Error("locktest: " + lack)
	case lack != "":
		t.Log("locktest: " + lack)
	}
}

// context returns a context that ends shortly before the test's deadline. It limits the budget to
// half of the time until then.
func (r *runner) context() (context.Context, context.CancelFunc) {
	end, ok := r.t.Deadline()
	if !ok {
		return context.WithCancel(r.t.Context())
	}
	left := time.Until(end) * 9 / 10
	r.session.Budget = min(r.session.Budget, left/2)
	return context.WithTimeoutCause(r.t.Context(), left, errors.New("locktest: the test's time is over (go test -timeout)"))
}

// fault is the subtest of a fault.
func (r *runner) fault(ctx context.Context, t *testing.T, fault string, result *Result) {
	if r.replay != "" {
		r.replayNamed(ctx, t, fault, result)
		return
	}
	if !r.savedHold(ctx, t, fault, result) {
		return
	}
	f, err := r.session.fault(ctx, fault)
	if err != nil {
		t.Fatal(cmp.Or(context.Cause(ctx), err))
	}
	result.add(f)
	switch text := f.failure(); {
	case text != "":
		t.Error(text + r.advice(t, f.Violation))
	case f.NotTested != "":
		t.Skip(f.Summary())
	case f.Trials == 0 && f.CutOff > 0:
		t.Skipf("not tested: the budget of %v was used up (option Budget)", r.session.Budget)
	default:
		t.Log(f.Summary())
	}
}

// advice saves a counterexample. It returns a text with the file, if there is one, and with the
// commands that run the trial again. If v is nil, or its story is told elsewhere (SameAs), advice
// saves nothing and returns "".
func (r *runner) advice(t *testing.T, v *Violation) string {
	if v == nil || v.SameAs != "" {
		return ""
	}
	lines := []string{"", "to run this trial again:"}
	named := "  " + r.command(t, fmt.Sprint("-lockstorm.seed=", v.Seed), "-lockstorm.replay="+v.Replay)
	if path, err := r.save(v); err != nil {
		lines = append(lines, named, fmt.Sprint("the trial could not be saved: ", err))
	} else if path == "" {
		lines = append(lines, named)
	} else {
		lines = append(lines, "  "+r.command(t, "-lockstorm.replay="+filepath.ToSlash(path)))
		if !v.unshrunk {
			lines = append(lines, "the original trial, before shrinking:", named)
		}
		lines = append(lines, "it is saved, and runs first from now on, in", "  "+path)
	}
	return strings.Join(append(lines, keep(t, v.folder)...), "\n")
}

// save saves a counterexample and returns the path of its file. If a second run of the trial did
// not show the same flaw, save saves nothing and returns "".
func (r *runner) save(v *Violation) (path string, err error) {
	if v.unsteady {
		return "", nil
	}
	return save(r.dir, v, r.session.name)
}

// command returns the command line that runs a trial of the subtest again, with these flags.
func (r *runner) command(t *testing.T, flags ...string) string {
	return command([]string{"-run", pattern(t.Name())}, flags)
}

// commandFor returns the command line that runs a trial under a fault and tells its story.
func (r *runner) commandFor(fault, replay string) string {
	flags := []string{"-lockstorm.replay=" + replay}
	if *seedFlag != 0 {
		flags = append(flags, fmt.Sprint("-lockstorm.seed=", *seedFlag))
	}
	return command([]string{"-v", "-run", pattern(r.tests[fault])}, flags)
}

// command returns a command line with flags of go test and flags of the tests.
func command(gotest, flags []string) string {
	return wording.Command(slices.Concat([]string{"go", "test"}, gotest, []string{packagePath()}, flags, ownFlags())...)
}

// serve runs trials for the process that started this one. It then ends this process.
func (l lock) serve() {
	l.register()
	if err := worker.Serve(context.Background(), sim.Guest{Testbed: sim.New()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0) // the parent runs the rest of the test
}

// calls counts the calls of Run for each test.
var calls = struct {
	sync.Mutex
	of map[*testing.T]int
}{of: map[*testing.T]int{}}

// callsOf counts a call of Run in the test and returns its number, from 1.
func callsOf(t *testing.T) int {
	calls.Lock()
	defer calls.Unlock()
	if calls.of[t]++; calls.of[t] == 1 {
		t.Cleanup(func() {
			calls.Lock()
			defer calls.Unlock()
			delete(calls.of, t)
		})
	}
	return calls.of[t]
}

func workerName(t *testing.T, call int) string { return fmt.Sprint(t.Name(), "#", call) }

// claimed has a mutex for each test name, because go test -count with t.Parallel runs copies of a
// test at once.
var claimed sync.Map

// claim waits until no other test of this name runs, and reserves the name until release is called.
func claim(name string) (release func()) {
	m, _ := claimed.LoadOrStore(name, &sync.Mutex{})
	m.(*sync.Mutex).Lock()
	return m.(*sync.Mutex).Unlock
}

// pattern returns the argument of go test -run for exactly this test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// packagePath returns the import path of the package under test, "." if unknown.
func packagePath() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "."
	}
	path, ok := strings.CutSuffix(info.Path, ".test")
	if !ok {
		return "."
	}
	return path
}
