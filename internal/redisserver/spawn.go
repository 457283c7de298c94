package redisserver

import (
	"os/exec"
	"runtime"
	"sync"
)

// A parent-death signal is sent when the *thread* that forked dies, not the
// process, and Go ends threads as it likes. So one goroutine, locked to its
// thread, forks all children; it lives from the first child's start to the last
// child's end.
var spawner struct {
	sync.Mutex
	children int
	requests chan request
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

// spawn starts cmd on the spawning thread. If it succeeds, the caller calls
// released once the child has ended.
func spawn(cmd *exec.Cmd) error {
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
		released()
	}
	return err
}

func released() {
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
