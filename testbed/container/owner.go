package container

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// owner is the process that containers and networks belong to, as their labels
// name it.
type owner struct {
	host    string // the machine, and where its process ids count
	pid     int
	started string // when it began, "" where that is not known
}

// self is this process.
func self() owner {
	pid := os.Getpid()
	return owner{host: processHost(), pid: pid, started: startOf(pid)}
}

// hostname is the machine's name, "" if it has none.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// Labels of what a session makes.
const (
	labelSession = "lockstorm.session" // its name
	labelHost    = "lockstorm.host"
	labelPID     = "lockstorm.pid"
	labelStarted = "lockstorm.started"
)

func (o owner) labels(session string) map[string]string {
	return map[string]string{
		labelSession: session, labelHost: o.host, labelPID: strconv.Itoa(o.pid), labelStarted: o.started,
	}
}

// dead says whether the owner in these labels is certainly a process of this machine that
// has ended.
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
