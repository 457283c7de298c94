//go:build unix && !linux

package redisserver

import "syscall"

// childAttributes puts the child into a process group of its own, so that a
// terminal's Ctrl-C does not end it before the program has.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func awaitStopped(int) error { return nil }
