package redisserver

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// awaitStopped returns when the child has stopped or ended. It reaps nothing.
func awaitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil, errors.Is(err, unix.ECHILD):
			return nil
		default:
			return fmt.Errorf("wait for redis-server to stop: %w", err)
		}
	}
}
