package worker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time that a process has used so far.
func cpuTime(pid int) (time.Duration, bool) {
	const process = 2 // CPUCLOCK_SCHED in the kernel: the clock that clock_getcpuclockid(3) returns
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|process), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// runnable reports whether a thread of the process, or of its children and theirs, runs, or would if a
// processor were free. A worker waits for its children: clients in other languages.
func runnable(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		stat, err := os.ReadFile(filepath.Join(thread, "stat"))
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the program's name, which is in parentheses and may itself contain
		// parentheses.
		if _, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); ok && bytes.HasPrefix(state, []byte("R")) {
			return true
		}
		children, _ := os.ReadFile(filepath.Join(thread, "children")) // not in every kernel
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil && runnable(n) {
				return true
			}
		}
	}
	return false
}
