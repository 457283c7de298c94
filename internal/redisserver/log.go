package redisserver

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Log receives a server's standard output and error, which are its log. It can also store the log
// in a file. Its methods may be called concurrently.
type Log struct {
	ready chan struct{}

	mu    sync.Mutex
	file  *os.File
	part  string   // the beginning of an unfinished line
	tail  []string // last lines, without process id and time
	isUp  bool
	write error
}

// logPrefix matches process id, role, time and level at the start of a line of Redis's log.
var logPrefix = regexp.MustCompile(`^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ [.*#-] `)

// tailLines is the number of log lines that a Log remembers.
const tailLines = 20

// OpenLog returns a log that is appended to the file path; "" = no file.
func OpenLog(path string) (*Log, error) {
	l := &Log{ready: make(chan struct{})}
	if path == "" {
		return l, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	l.file = f
	return l, err
}

// up are beginnings of the lines with which Redis and Sentinel say that they accept connections.
var up = []string{"Ready to accept connections", "Sentinel ID is "}

// Ready is closed when the server has said that it accepts connections.
func (l *Log) Ready() <-chan struct{} { return l.ready }

// Write implements io.Writer. It never fails: Redis must not end because the disk is too full for
// its log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && l.write == nil {
		_, l.write = l.file.Write(p)
	}
	lines := strings.Split(l.part+string(p), "\n")
	l.part = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		l.line(line)
	}
	return len(p), nil
}

func (l *Log) line(line string) {
	line = strings.TrimSpace(logPrefix.ReplaceAllString(line, ""))
	if line == "" {
		return
	}
	if !l.isUp && slices.ContainsFunc(up, func(text string) bool { return strings.HasPrefix(line, text) }) {
		l.isUp = true
		close(l.ready)
	}
	if len(l.tail) == tailLines {
		l.tail = append(l.tail[:0], l.tail[1:]...)
	}
	l.tail = append(l.tail, line)
}

func (l *Log) saw(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.tail {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// LastLine returns the last line so far, without process id and time; "" if there is none.
func (l *Log) LastLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tail) == 0 {
		return ""
	}
	return l.tail[len(l.tail)-1]
}

// Close closes the file. Later output is not stored.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
