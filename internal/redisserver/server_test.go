package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/testbed/childtest"
)

// harnessVariable makes the test binary act as a harness. The harness starts servers, prints their
// process ids, and hangs until it is killed.
const harnessVariable = "LOCKSTORM_TEST_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(harnessVariable) != "" {
		for range 3 {
			s, err := Start(context.Background(), Options{Dir: os.Getenv(harnessVariable)})
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(s.PID())
		}
		select {}
	}
	goleak.VerifyTestMain(m)
}

func TestServerAnswersAsSoonAsStartReturns(t *testing.T) {
	s := started(t)
	if got := ask(t, s, "PING"); got != "+PONG" {
		t.Errorf("PING: got %q, want +PONG", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory %s after Close: got %v, want none", s.dir, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestServerDiesWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	<-s.Exited()
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "killed") {
		t.Errorf("Err: got %v, want one that says killed", s.Err())
	}
}

func TestPausedServerAnswersAfterResume(t *testing.T) {
	s := started(t)
	defer s.Close()
	for range 3 {
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
		if err == nil && !strings.Contains(string(stat), ") T ") {
			t.Errorf("after Pause: got state %q, want T", stat)
		}
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, "PING"); got != "+PONG" {
			t.Errorf("PING: got %q, want +PONG", got)
		}
	}
}

func TestPausedServerCanBeKilled(t *testing.T) {
	s := started(t)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Pause(); err == nil {
		t.Error("Pause of an ended server: got no error")
	}
}

func TestFailedStartSaysWhyInOneLine(t *testing.T) {
	taken := started(t)
	defer taken.Close()
	old := script(t, "old-redis", `echo "Redis server v=5.0.14 sha=0 bits=64"`)
	other := script(t, "other", `echo "memcached 1.6"`)
	for name, c := range map[string]struct {
		options Options
		env     string
		path    string
		want    string
	}{
		"port taken":          {options: Options{Args: []string{"--port", strconv.Itoa(taken.Port())}}, want: "port is taken"},
		"log is a directory":  {options: Options{Log: t.TempDir()}, want: "is a directory"},
		"directory is a file": {options: Options{Dir: old}, want: "not a directory"},
		"bad argument":        {options: Options{Args: []string{"--no-such-option", "1"}}, want: "Bad directive"},
		"too old":             {env: old, want: "redis-server 5.0.14 is too old: 6.2 or later is needed"},
		"not a Redis":         {env: other, want: "not a redis-server"},
		"named, not there":    {env: "/no/such/file", want: PathVariable},
		"none on PATH":        {path: t.TempDir(), want: "no redis-server on PATH: install"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv(PathVariable, c.env)
			}
			if c.path != "" {
				t.Setenv(PathVariable, "")
				t.Setenv("PATH", c.path)
			}
			s, err := Start(t.Context(), c.options)
			if err == nil {
				s.Close()
				t.Fatal("got no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for out, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0": "7.0.15",
		"Redis server v=6.2.0 sha=00000000:0":                                                      "6.2.0",
		"Valkey server v=8.0.1 sha=00000000:0":                                                     "8.0.1",
		"Redis server v=10.1.0-rc1 sha=00000000":                                                   "10.1.0-rc1",
		"Redis server v=6.0.16 sha=00000000:0":                                                     "",
		"bash: redis-server: command not found":                                                    "",
	} {
		got, err := CheckVersion(out)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", out, got, err, want)
		}
	}
}

func TestLogIsKept(t *testing.T) {
	log := filepath.Join(t.TempDir(), "n0.log")
	for range 2 {
		s, err := Start(t.Context(), Options{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "Ready to accept connections"); got != 2 {
		t.Errorf("starts in the log: got %d, want 2", got)
	}
}

func TestNoServerSurvivesTheHarnessBeingKilled(t *testing.T) {
	childtest.KillHarness(t, harnessVariable+"="+t.TempDir(), 3)
}

// started starts a server, which the test closes.
func started(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func script(t *testing.T, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask sends an inline command and returns the first line of the reply.
func ask(t *testing.T, s *Server, command string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s\r\n", command)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
