package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/testbed/container"
)

// engineSocket is the socket on which the Docker engine of these tests listens.
const engineSocket = "/var/run/docker.sock"

// wire is a connection between a program and the Docker engine. A test can cut and repair it.
// Stopping the engine itself is not possible, because others use it too.
type wire struct {
	path string

	mu       sync.Mutex
	down     bool // the wire is cut: nothing is carried, not even on accepted connections
	listener net.Listener
	conns    []net.Conn
	serving  sync.WaitGroup
	asked    bytes.Buffer // everything that the program sent to the engine
}

func newWire(t *testing.T) *wire {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{path: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		w.cut()
		os.RemoveAll(dir)
	})
	w.repair(t)
	return w
}

// repair makes the engine reachable for the program.
func (w *wire) repair(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", w.path)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener, w.down = l, false
	w.serving.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			w.carry(near)
		}
	})
}

// carry connects to the engine, and forwards bytes between the program's connection near and the
// engine until one side closes.
func (w *wire) carry(near net.Conn) {
	far, err := net.Dial("unix", engineSocket)
	if err != nil {
		near.Close()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		near.Close()
		far.Close()
		return
	}
	w.conns = append(w.conns, near, far)
	w.serving.Go(func() {
		io.Copy(io.MultiWriter(far, w), near)
		far.(*net.UnixConn).CloseWrite()
	})
	w.serving.Go(func() {
		io.Copy(near, far)
		near.Close()
	})
}

// Write records what the program sends.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked.Write(p)
}

// cut closes all connections and accepts no more.
func (w *wire) cut() {
	w.mu.Lock()
	w.down = true
	w.listener.Close()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
	w.mu.Unlock()
	w.serving.Wait()
}

// started lists the containers that the program started.
func (w *wire) started() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range regexp.MustCompile(`POST \S*/containers/([0-9a-f]{64})/start`).FindAllStringSubmatch(w.asked.String(), -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// needContainers is an environment variable. If it is set, a test that cannot run containers fails;
// otherwise the test is skipped.
const needContainers = "LOCKSTORM_NEED_CONTAINERS"

// needEngine skips the test, or fails it (needContainers), if containers cannot be run. It also skips
// the test if there is no engineSocket. It says why.
func needEngine(t *testing.T, image string) {
	t.Helper()
	t.Setenv(container.ImageVariable, image)
	i := slices.IndexFunc(testbeds, func(c testbedChoice) bool { return c.Name == container.Name })
	if _, _, _, missing := testbeds[i].worlds(); missing != "" {
		if os.Getenv(needContainers) != "" {
			t.Fatalf("%s is set, and there are no containers here: %s", needContainers, missing)
		}
		t.Skipf("NOT TESTED: no containers here: %s", missing)
	}
	if _, err := os.Stat(engineSocket); err != nil {
		t.Skipf("NOT TESTED: the engine is elsewhere: %v", err)
	}
}

// TestDockerStoppedInTheMiddleOfARun: the program loses its connection to the engine. The harness
// fails the trial, the stored trials can be read, and no container is left once the engine is
// back.
func TestDockerStoppedInTheMiddleOfARun(t *testing.T) {
	image := os.Getenv(container.ImageVariable)
	if image == "" {
		image = "lockstorm/redis:local"
	}
	needEngine(t, image)
	w := newWire(t)
	store := t.TempDir()
	cmd := exec.Command(os.Args[0], "run", "--testbed", container.Name, "--image", image, "--locks", "set-nx-px", "--faults", "none", "--workloads", "mutex",
		"--trials", "2", "--duration", "3s", "--parallel", "1", "--keep", "--store", store)
	cmd.Env = []string{"DOCKER_HOST=unix://" + w.path}
	p := launch(t, cmd, store, t.TempDir())
	p.underWay(t, "none", 1)
	w.cut()
	p.until(t, func() bool {
		s, err := campaign.Load(filepath.Join(store, campaign.Latest))
		return err == nil && len(s.Trials) == 2
	})
	w.repair(t)
	if code := p.code(t); code != campaign.ExitHarness {
		t.Errorf("exit code %d, want 255", code)
	}
	// If the program ends before the engine is back, it reports that it could not look for
	// containers, and the reaper removes them.
	said := p.stderr.String()
	if !strings.Contains(said, "trial 1 of set-nx-px under none (mutex) failed: container testbed: ") &&
		!strings.Contains(said, "look for containers: failed to connect to the docker API") {
		t.Errorf("stderr is\n%s", said)
	}
	readable(t, p.folder("none", 0), "exclusion")
	readable(t, p.folder("none", 1), "exclusion")
	reported(t, store, "container testbed")
	empty(t, p.temp)
	ids := w.started()
	if len(ids) == 0 {
		t.Error("no container was started by way of the wire")
	}
	for _, id := range ids {
		for patience := time.Now().Add(2 * time.Minute); there(t, id); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(patience) {
				t.Fatalf("container %.12s is still there", id)
			}
		}
	}
}

// there asks the engine directly whether a container exists.
func there(t *testing.T, id string) bool {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", engineSocket)
	}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://docker/containers/"+id+"/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode != http.StatusNotFound
}
