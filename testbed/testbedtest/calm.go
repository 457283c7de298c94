package testbedtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// calmTries bounds how often calm repeats a body on a machine that stalls.
const calmTries = 5

// calm runs body as run does. If the environment reports an election that no fault explains,
// the machine was too busy to schedule a server, and failures say nothing about the testbed.
// In that case calm repeats body in a new environment. The last try always counts: a testbed
// that has such an election in every try is broken.
func (s suite) calm(setup testbed.Setup, body func(*testEnv, *election)) []history.Command {
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

// hearing runs body once in a new environment. It collects the failures in found and the
// environment's elections in elected.
func (s suite) hearing(found *findings, elected *election, setup testbed.Setup, body func(*testEnv, *election)) []history.Command {
	s.Helper()
	commands, err := s.try(setup, func(w *testEnv) error {
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

// findings collects failures until it is known whether they count. Its methods may be
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

// report fails the test if there are findings.
func (f *findings) report() {
	f.TB.Helper()
	for _, text := range f.all {
		f.TB.Error(text)
	}
}
