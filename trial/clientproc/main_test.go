package clientproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// asClient is an environment variable that makes this program a client process. The client's job
// names one of the scenes.
const asClient = "LOCKSTORM_TEST_CLIENT"

// asHarness is an environment variable that makes this program a harness, which the test kills.
const asHarness = "LOCKSTORM_TEST_HARNESS"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asClient) != "":
		if err := play(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(asHarness) != "":
		playHarness()
	default:
		goleak.VerifyTestMain(m)
	}
}

// play makes this process a client process: it joins the trial and runs the scene that the client's
// job names.
func play(ctx context.Context) error {
	s, err := Join(ctx)
	if err != nil {
		return err
	}
	if err := s.Connect(ctx); err != nil {
		return err
	}
	end := End{}
	if err := scenes[string(s.Job())](ctx, s); err != nil {
		end.Err = err.Error()
	}
	if err := s.Ended(ctx, end); err != nil {
		return err
	}
	s.Stay(ctx)
	return nil
}

// scenes maps the job of a client process, such as "write", to what the process then does.
var scenes = map[string]func(context.Context, *Session) error{
	"write": func(ctx context.Context, s *Session) error {
		if err := s.Step(ctx, "acquire"); err != nil {
			return err
		}
		op, err := s.Invoke(history.Op{Process: history.Process(s.ID()), Client: s.ID(), F: history.FWrite, Lock: "lock-0", Value: []int64{7}})
		if err != nil {
			return err
		}
		s.Open(op.Index)
		answer, err := s.Resource("lock-0").Write(3, op.Value)
		if err != nil {
			return err
		}
		op.Type, op.Value, op.Seq = history.OK, answer.Values, answer.Seq
		if _, err := s.Complete(op); err != nil {
			return err
		}
		<-s.Healed()
		return nil
	},
	"tick": func(ctx context.Context, s *Session) error {
		for ; ; time.Sleep(time.Millisecond) {
			// The tests compare these readings of the client's clocks with the trial's.
			_, err := s.Event(history.Op{Client: s.ID(), F: history.FLost, Lock: time.Until(s.Locks().Now()).Round(time.Minute).String(), Seq: int64(s.Now())})
			if err != nil {
				return err
			}
		}
	},
	"echo": func(ctx context.Context, s *Session) error {
		c, err := s.Locks().Dial(ctx, "tcp", "n0")
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
		got := make([]byte, 5)
		if _, err := c.Read(got); err != nil || string(got) != "hello" || c.RemoteAddr().String() != "n0" {
			return fmt.Errorf("got %q from %s, %v", got, c.RemoteAddr(), err)
		}
		_, err = s.Locks().Dial(ctx, "tcp", "nowhere")
		return fmt.Errorf("as expected: %w", err)
	},
	"work": func(ctx context.Context, s *Session) error {
		slow, err := s.Work(ctx)
		if err != nil || slow == nil {
			return fmt.Errorf("got a channel %t, %w, want slow work", slow != nil, err)
		}
		<-slow
		if done, err := s.Work(ctx); done != nil || !errors.Is(err, testbed.ErrHung) {
			return fmt.Errorf("got a channel %t, %w, want %w", done != nil, err, testbed.ErrHung)
		}
		return nil
	},
	"broken": func(context.Context, *Session) error {
		return &testbed.Breakdown{Kind: history.FPanic, Detail: "boom"}
	},
	"seal": func(ctx context.Context, s *Session) error {
		_, err := s.Event(history.Op{Client: s.ID(), F: history.FLost})
		if !errors.Is(err, history.ErrSealed) {
			return fmt.Errorf("got %v, want %v", err, history.ErrSealed)
		}
		return nil
	},
	"exit":  func(context.Context, *Session) error { fmt.Println("last words"); os.Exit(3); return nil },
	"quiet": func(context.Context, *Session) error { return nil },
	"nonsense": func(_ context.Context, s *Session) error {
		_, err := os.NewFile(callsFile, "calls").WriteString("\x03no\xff call")
		return err
	},
	"nonsense inside": func(ctx context.Context, s *Session) error {
		return s.call(ctx, "Step", []int{7}, nil) // the argument should be a string
	},
}
