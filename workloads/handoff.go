package workloads

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// handoff has a job that survives its worker, like a leader's job. The holder works on the job and
// notes its progress while the other clients wait. The next holder finds a finished job and starts
// another, or continues an abandoned job from the last note.
//
// The resource holds the job's number, its worker, and the number of finished parts. A crash shows
// as a job with a second worker. The second worker's first note shows which client got in, and how
// soon.
var handoff = Workload{
	Name:    "handoff",
	Doc:     "a job in parts, each noted when it is done; if its worker fails, the next holder takes the job over",
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	section: handoffSection,
	values:  3,
}

const parts = 4

func handoffSection(s *session, lock string) error {
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enter, s.takeOver)
}

// takeOver continues an unfinished job, or does the next job.
func (s *session) takeOver(h *hold) error {
	var job, done int64
	err := s.touch(h, testbed.StepRead, func() error {
		note, err := s.read(h)
		if err != nil || note == nil {
			return err
		}
		if job, done = note[0], note[2]; job == 0 || done == parts {
			job, done = job+1, 0
		}
		return s.write(h, job, int64(s.id), done)
	})
	for ; err == nil && job > 0 && done < parts && !h.isLost(); done++ {
		if err = s.work(h, parts); err != nil {
			break
		}
		err = s.touch(h, testbed.StepTouch, func() error { return s.lateWrite(h, job, int64(s.id), done+1) })
	}
	return err
}
