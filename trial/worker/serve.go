package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/entropy"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// The file descriptors that connect a worker to its campaign.
const (
	tasksFile   = 3
	answersFile = 4
)

// lineLimit is the maximum length of a task or an answer: a trial's verdicts are some
// kilobytes.
const lineLimit = 64 << 20

// answer is one line of a worker: exactly one of the first four fields is set.
type answer struct {
	Ready   bool             `json:"ready,omitempty"` // the first line
	Command *history.Command `json:"command,omitempty"`
	Done    *trial.Done      `json:"done,omitempty"`
	Err     string           `json:"error,omitempty"` // an error after which the campaign cannot go on
	// Last: the worker ends now, because the trial left goroutines behind, or had a
	// data race.
	Last bool `json:"last,omitempty"`
}

// Serve is the main loop of a worker process, which a Pool starts: it runs trials of the campaign
// on tb, one after another. It returns nil when there are no more trials, when ctx ends, or after a
// trial that left goroutines behind or had a data race. The error is an input.Error if no campaign
// started this process. Other errors say that a task cannot be decoded or an answer cannot be
// written. A process calls Serve once.
func Serve(ctx context.Context, tb testbed.Testbed) error {
	for _, fd := range []int{tasksFile, answersFile} {
		var info syscall.Stat_t
		if err := syscall.Fstat(fd, &info); err != nil || info.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return input.Errorf("a worker is started by a campaign, not by hand")
		}
		// Programs that the code under test starts must not inherit the pipes.
		syscall.CloseOnExec(fd)
	}
	if err := syscall.SetNonblock(tasksFile, true); err != nil { // so that a deadline can end reading
		return fmt.Errorf("worker: %w", err)
	}
	defer dumpOnQuit(os.Stderr)()
	in, out := os.NewFile(tasksFile, "tasks"), os.NewFile(answersFile, "answers")
	return errors.Join(serve(ctx, tb, in, out), in.Close(), out.Close())
}

// dumpOnQuit makes SIGQUIT write a dump of the goroutines and end the process, until off is called.
// The Go runtime's own dump lacks the stacks of running goroutines.
func dumpOnQuit(to io.Writer) (off func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		if _, ok := <-quit; ok {
			_, _ = io.WriteString(to, crash.Goroutines())
			os.Exit(2)
		}
	}()
	return func() {
		signal.Stop(quit)
		close(quit)
	}
}

// tasks is a worker's input.
type tasks interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// serve is Serve over the files in and out. When it returns, no goroutine reads from in.
func serve(outer context.Context, tb testbed.Testbed, in tasks, out io.Writer) error {
	ctx, cancel := context.WithCancel(outer)
	queue, reading := make(chan trial.Task), make(chan error, 1)
	go func() {
		defer cancel() // once the input ends, the campaign no longer waits for the running trial
		reading <- readTasks(ctx, in, queue)
	}()
	s := &server{bed: tb, out: out}
	err := s.all(ctx, queue)
	ended := outer.Err() != nil
	cancel()
	_ = in.SetReadDeadline(time.Unix(1, 0))
	if rerr := <-reading; err == nil && !ended && !errors.Is(rerr, os.ErrDeadlineExceeded) {
		err = rerr
	}
	return err
}

// readTasks decodes tasks and sends them to queue, until the input or ctx ends.
func readTasks(ctx context.Context, in io.Reader, queue chan<- trial.Task) error {
	lines := newLines(in)
	for lines.Scan() {
		var t trial.Task
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return fmt.Errorf("worker: expected a trial as a line of JSON: %w", err)
		}
		select {
		case queue <- t:
		case <-ctx.Done():
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("worker: read a trial: %w", err)
	}
	return nil
}

// server runs tasks and writes the answers.
type server struct {
	bed testbed.Testbed

	mu      sync.Mutex
	out     io.Writer
	failure error // the first error of writing an answer
}

// all runs the trials of the queue until ctx ends, or until serve says that the worker must end.
func (s *server) all(ctx context.Context, queue <-chan trial.Task) error {
	if err := s.answer(answer{Ready: true}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-queue:
			if last, err := s.serve(ctx, t); last || err != nil {
				return err
			}
		}
	}
}

// serve runs one trial. last says that the worker must end, because ctx has ended or the trial left
// goroutines behind or had a data race. The error says why no answer can be given.
func (s *server) serve(ctx context.Context, t trial.Task) (last bool, err error) {
	var log func(history.Command)
	if t.Log {
		log = func(c history.Command) { _ = s.answer(answer{Command: &c}) } // the next answer reports the error
	}
	if !trial.RealTime(s.bed) { // on real time, trials do not repeat even with a seed
		entropy.Seed(t.Spec.Seed)
	}
	before := runtime.NumGoroutine()
	d, err := trial.Execute(ctx, s.bed, t, new(sync.Mutex), log)
	switch {
	case ctx.Err() != nil:
		return true, nil
	case err != nil:
		return false, s.answer(answer{Err: err.Error()})
	}
	d.Trial.Spec = trial.Spec{}      // the campaign has the spec
	last = remain(before) || d.Raced // the campaign reads the race report after this process has ended
	return last, s.answer(answer{Done: &d, Last: last})
}

// remain says whether more goroutines than before still run, after a grace period for goroutines
// that are about to end.
func remain(before int) bool {
	for range 10 {
		if runtime.NumGoroutine() <= before {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// answer writes an answer as one line of JSON. It returns the first write error, even of an earlier answer.
func (s *server) answer(a answer) error {
	line, err := json.Marshal(a)
	if err != nil { // send the error instead, which ends the campaign
		line, err = json.Marshal(answer{Err: fmt.Sprintf("worker: encode an answer: %v", err)})
	}
	if err != nil {
		return fmt.Errorf("worker: encode an answer: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		_, s.failure = s.out.Write(append(line, '\n'))
	}
	return s.failure
}

// newLines returns a scanner for tasks or answers.
func newLines(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), lineLimit)
	return lines
}

// readAnswer returns a worker's next answer; io.EOF if there is none.
func readAnswer(lines *bufio.Scanner) (answer, error) {
	if !lines.Scan() {
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return answer{}, fmt.Errorf("%w: %w", errGarbled, err)
		case err != nil:
			return answer{}, fmt.Errorf("read a worker's answer: %w", err)
		}
		return answer{}, io.EOF
	}
	var a answer
	if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
		return answer{}, fmt.Errorf("%w: %w", errGarbled, err)
	}
	return a, nil
}

// errGarbled says that a worker sent something that is no answer.
var errGarbled = errors.New("expected a worker's answer as a line of JSON")
