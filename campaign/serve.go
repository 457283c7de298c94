package campaign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// answerMark begins a line of a worker's answers. Lines without it were written
// by code under test that takes stdout for its own.
const answerMark = "lockstorm:"

// answer is one line of a worker: exactly one field is set.
type answer struct {
	Ready   bool             `json:"ready,omitempty"` // the first of all
	Command *history.Command `json:"command,omitempty"`
	Done    *done            `json:"done,omitempty"`
	Err     string           `json:"error,omitempty"` // why the campaign cannot go on
}

// ServeWorker is the life of a worker process: it runs the trials that it reads
// from in on tb, one after another, and answers each with a line on out, until
// in or ctx ends. The processes that it talks to are those of Campaign.Worker.
func ServeWorker(ctx context.Context, tb testbed.Testbed, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{bed: tb, out: out}
	tasks := make(chan task)
	var reading error
	go func() {
		defer cancel() // nobody waits for the trial under way any more
		defer close(tasks)
		reading = readTasks(ctx, in, tasks)
	}()
	if err := s.answer(answer{Ready: true}); err != nil {
		return err
	}
	for t := range tasks {
		if err := s.serve(ctx, t); err != nil {
			return err
		}
	}
	return reading
}

// readTasks passes on what it reads, until the end.
func readTasks(ctx context.Context, in io.Reader, tasks chan<- task) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("worker: read a trial: %w", err)
		}
		var t task
		if err := json.Unmarshal(line, &t); err != nil {
			return fmt.Errorf("worker: expected a trial as a line of JSON: %w", err)
		}
		select {
		case tasks <- t:
		case <-ctx.Done():
			return nil
		}
	}
}

// server answers.
type server struct {
	bed testbed.Testbed

	mu      sync.Mutex
	out     io.Writer
	failure error // of answering
}

// serve runs one trial. Its error is why no answer can be given.
func (s *server) serve(ctx context.Context, t task) error {
	var log func(history.Command)
	if t.Log {
		log = func(c history.Command) { _ = s.answer(answer{Command: &c}) } // the next answer tells
	}
	d, err := execute(ctx, s.bed, t, new(sync.Mutex), log)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return s.answer(answer{Err: err.Error()})
	}
	d.Trial.Spec = Spec{} // which the other side has
	return s.answer(answer{Done: &d})
}

// answer writes one line, in one piece, on a line of its own.
func (s *server) answer(a answer) error {
	line, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("worker: encode an answer: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		_, s.failure = s.out.Write(append(append([]byte("\n"+answerMark), line...), '\n'))
	}
	return s.failure
}

// readAnswer returns a worker's next answer.
func readAnswer(lines *bufio.Reader) (answer, error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return answer{}, err
		}
		text, ok := bytes.CutPrefix(line, []byte(answerMark))
		var a answer
		if !ok || json.Unmarshal(text, &a) != nil {
			continue
		}
		if a.Err != "" {
			return a, errors.New(a.Err)
		}
		return a, nil
	}
}
