//go:build unix

package live

import (
	"net"
	"strings"
	"syscall"
	"testing"
)

// TestATrialHearsOfAProxyThatTakesNoConnections checks that the trial fails if clients can never
// connect again, since that is not the lock's fault.
func TestATrialHearsOfAProxyThatTakesNoConnections(t *testing.T) {
	died := make(chan error, 1)
	proxies := newProxies(func(err error) { died <- err })
	p, err := proxies.open("c0-n0", loopback, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	defer proxies.close()
	addr, err := net.ResolveTCPAddr("tcp4", p.Listen)
	if err != nil {
		t.Fatal(err)
	}
	// The client gets a file descriptor before the limit falls to 0. Then nobody gets one.
	client, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(client)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	cerr := syscall.Connect(client, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())})
	if cerr == nil {
		err = ending(t, died)
	}
	if rerr := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); rerr != nil {
		t.Fatal(rerr)
	}
	if cerr != nil {
		t.Fatal(cerr)
	}
	if err == nil || !strings.Contains(err.Error(), "c0-n0") {
		t.Errorf("got %v, want to hear of proxy c0-n0", err)
	}
}
