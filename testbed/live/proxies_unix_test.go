//go:build unix

package live

import (
	"strings"
	"syscall"
	"testing"
)

// TestATrialHearsOfALinkThatTakesNoConnections checks that the trial fails if clients cannot
// connect for want of file descriptors, since that is not the lock's fault.
func TestATrialHearsOfALinkThatTakesNoConnections(t *testing.T) {
	died := make(chan error, 1)
	l := newLinked(t, func(err error) { died <- err })
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, derr := l.dial(t.Context(), 0)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if derr == nil {
		t.Error("a connection without file descriptors")
	}
	if err := ending(t, died); err == nil || !strings.Contains(err.Error(), "c0-n0") {
		t.Errorf("got %v, want to hear of link c0-n0", err)
	}
}
