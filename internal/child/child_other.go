//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	Signal(cmd, syscall.SIGKILL)
	return err
}
