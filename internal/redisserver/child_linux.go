package redisserver

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes puts the child into a process group of its own, so that a
// terminal's Ctrl-C does not end it before the program has, and has the kernel
// kill it when the spawning thread dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

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
