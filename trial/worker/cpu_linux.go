package worker

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that a process has used so far.
func cpuTime(pid int) (time.Duration, bool) {
	const process = 2 // CPUCLOCK_SCHED, in clock_getcpuclockid(3)'s terms
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|process), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}
