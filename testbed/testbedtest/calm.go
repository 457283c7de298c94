package testbedtest

import (
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// calmTries bounds how often a machine that stalls is given another chance.
const calmTries = 5

// calm runs body as run does, in a new world if the last one told of an unasked
// election: servers that were not scheduled have elected somebody before body could
// provoke it, and what is found then says nothing of the testbed. The last try
// counts, whatever it tells: a testbed in which that happens each time is broken.
func (s suite) calm(setup testbed.Setup, body func(*world, *election)) []history.Command {
	s.Helper()
	for try := 1; ; try++ {
		found, elected := &findings{TB: s.T}, &election{}
		commands := s.hearing(found, elected, setup, body)
		if elected.unasked() && try < calmTries {
			s.Logf("try %d proves nothing, the machine stalled: %v", try, elected.told())
			continue
		}
		found.report()
		return commands
	}
}

// hearing is one try.
func (s suite) hearing(found *findings, elected *election, setup testbed.Setup, body func(*world, *election)) []history.Command {
	s.Helper()
	defer goleak.VerifyNone(s, goleak.IgnoreCurrent())
	commands, err := s.try(setup, func(w *world) error {
		w.TB = found
		w.hear(elected)
		body(w, elected)
		return nil
	})
	if err != nil {
		found.Error(err)
	}
	return commands
}

// findings are kept back until it is known whether they count. Its methods may be
// called concurrently.
type findings struct {
	testing.TB

	mu  sync.Mutex
	all []string
}

// Errorf implements testing.TB.
func (f *findings) Errorf(format string, args ...any) { f.note(fmt.Sprintf(format, args...)) }

// Error implements testing.TB.
func (f *findings) Error(args ...any) { f.note(fmt.Sprint(args...)) }

func (f *findings) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, text)
}

// report fails the test if there are any.
func (f *findings) report() {
	f.TB.Helper()
	for _, text := range f.all {
		f.TB.Error(text)
	}
}
