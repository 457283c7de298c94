package workloads

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lockstorm/lockstorm/locks"
)

// processClient is a client whose process ends when the context process ends.
type processClient struct {
	client
	process context.Context
}

func (c *processClient) Locks() *locks.Client { return &locks.Client{Context: c.process} }

// A client's calls end with the client's process, with the trial, and with stop. The process of a
// crashed client ends even if the client's code keeps the trial from ending.
func TestCallsEndWithTheirProcess(t *testing.T) {
	for name, end := range map[string]func(process, trial, stop context.CancelFunc){
		"the process": func(process, _, _ context.CancelFunc) { process() },
		"the trial":   func(_, trial, _ context.CancelFunc) { trial() },
		"stop":        func(_, _, stop context.CancelFunc) { stop() },
	} {
		synctest.Test(t, func(t *testing.T) {
			process, endProcess := context.WithCancel(t.Context())
			defer endProcess()
			trial, endTrial := context.WithCancel(t.Context())
			defer endTrial()
			life, stop := (&session{client: &processClient{process: process}}).life(trial)
			defer stop()
			if life.Err() != nil {
				t.Errorf("%s: it has ended before", name)
			}
			end(endProcess, endTrial, stop)
			synctest.Wait()
			if life.Err() == nil {
				t.Errorf("%s: it goes on", name)
			}
		})
	}
}
