package child

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// AwaitStopped waits until a started child has stopped after a SIGSTOP, or has ended. It does not
// reap the child.
func AwaitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil, errors.Is(err, unix.ECHILD):
			return nil
		default:
			return fmt.Errorf("wait for process %d to stop: %w", pid, err)
		}
	}
}
