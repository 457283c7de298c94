// Package child starts processes that, on Linux, do not outlive this one.
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// The kernel sends a parent-death signal when the *thread* that forked dies, not the process, and
// Go ends threads as it likes. So one goroutine, locked to its thread, forks all children. It
// lives from the first child's start to the last child's end.
var spawner struct {
	sync.Mutex
	children int
	requests chan request
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

// Start starts cmd in a process group of its own, so that a terminal's Ctrl-C does not end the
// child before this program. On Linux the kernel kills the child when this process ends in any
// way. If Start succeeds, the caller must call Wait, or cmd.Wait and then Ended. The error is that
// of cmd.Start. Start sets cmd.SysProcAttr. The functions of this package may be called
// concurrently.
func Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	spawner.Lock()
	if spawner.children == 0 {
		spawner.requests = make(chan request)
		go serve(spawner.requests)
	}
	spawner.children++
	requests := spawner.requests
	spawner.Unlock()

	r := request{cmd, make(chan error, 1)}
	requests <- r
	err := <-r.done
	if err != nil {
		Ended()
	}
	return err
}

// Wait waits for the end of a started child, and kills the rest of its process group. It replaces
// cmd.Wait and Ended, and returns the error of cmd.Wait.
func Wait(cmd *exec.Cmd) error {
	defer Ended()
	return wait(cmd)
}

// Signal signals a started child and its whole process group, and ignores errors. It must not be called
// after Wait has returned: another process group may have the same number by then.
func Signal(cmd *exec.Cmd, s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) }

// Ended tells this package that a child has ended. It is for callers that use cmd.Wait instead of
// Wait. When no child remains, the goroutine that forks children ends.
func Ended() {
	spawner.Lock()
	defer spawner.Unlock()
	if spawner.children--; spawner.children == 0 {
		close(spawner.requests)
	}
}

func serve(requests <-chan request) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for r := range requests {
		r.done <- r.cmd.Start()
	}
}
