package container

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// owner identifies the process that made a container or network. The labels of containers and
// networks store it.
type owner struct {
	host    string // the machine and the namespace of process ids
	pid     int
	started string // the process's start time, "" if unknown
}

func self() owner {
	pid := os.Getpid()
	return owner{host: processHost(), pid: pid, started: startOf(pid)}
}

// hostname returns the machine's name, "" if it has none.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// Labels of a session's containers and networks.
const (
	labelSession = "lockstorm.session" // the session's name
	labelHost    = "lockstorm.host"
	labelPID     = "lockstorm.pid"
	labelStarted = "lockstorm.started"
)

func (o owner) labels(session string) map[string]string {
	return map[string]string{
		labelSession: session, labelHost: o.host, labelPID: strconv.Itoa(o.pid), labelStarted: o.started,
	}
}

// dead reports whether the owner in these labels is certainly a process of this machine
// that has ended.
func dead(labels map[string]string) bool {
	pid, err := strconv.Atoi(labels[labelPID])
	if err != nil || labels[labelSession] == "" || labels[labelHost] != processHost() {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	began := startOf(pid)
	return began != "" && labels[labelStarted] != "" && began != labels[labelStarted]
}
