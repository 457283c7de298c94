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
	Name:   "handoff",
	Doc:    "a job in parts, each noted when it is done; if its worker fails, the next holder takes the job over",
	Suits:  func(c history.Claims) bool { return !c.ReadWrite },
	body:   (*hold).takeOver,
	values: 3,
}

const parts = 4

// takeOver continues an unfinished job, or does the next job.
func (h *hold) takeOver() error {
	var job, done int64
	err := h.touch(testbed.StepRead, func() error {
		note, err := h.read()
		if err != nil || note == nil {
			return err
		}
		if job, done = note[0], note[2]; job == 0 || done == parts {
			job, done = job+1, 0
		}
		return h.write(job, int64(h.id), done)
	})
	for ; err == nil && job > 0 && done < parts && !h.isLost(); done++ {
		if err = h.work(parts); err != nil {
			break
		}
		err = h.touch(testbed.StepTouch, func() error { return h.lateWrite(job, int64(h.id), done+1) })
	}
	return err
}
