package childtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// asHarness is the environment variable that makes this program act as a harness; its value is the
// kind of harness.
const asHarness = "LOCKSTORM_TEST_HARNESS"

func TestMain(m *testing.M) {
	switch os.Getenv(asHarness) {
	case "":
		os.Exit(m.Run())
	case "dies early":
		os.Exit(1)
	case "names too few":
		fmt.Println(os.Getpid())
		os.Exit(1)
	case "names nobody":
		fmt.Println("it failed")
	case "names the dead":
		gone := exec.Command("true")
		_ = gone.Run()
		fmt.Println(gone.Process.Pid)
	case "names itself":
		fmt.Println(os.Getpid())
	}
	time.Sleep(time.Hour)
}

// watched records whether a test fails.
type watched struct {
	testing.TB
	failed bool
}

func (w *watched) Errorf(string, ...any) { w.failed = true }
func (w *watched) Error(...any)          { w.failed = true }
func (w *watched) Fatalf(string, ...any) { w.failed = true; runtime.Goexit() }
func (w *watched) Fatal(...any)          { w.failed = true; runtime.Goexit() }

func TestAHarnessThatProvesNothingFailsTheTest(t *testing.T) {
	for _, test := range []struct {
		harness  string
		children int
		fails    bool
	}{
		{"dies early", 1, true},
		{"names too few", 2, true},
		{"names nobody", 1, true},
		{"names the dead", 1, true},
		{"names itself", 1, false},
	} {
		t.Run(test.harness, func(t *testing.T) {
			w := &watched{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				KillHarness(w, asHarness+"="+test.harness, test.children)
			}()
			if <-done; w.failed != test.fails {
				t.Errorf("failed: %t, want %t", w.failed, test.fails)
			}
		})
	}
}

func TestChildrenAreThoseThatNobodyHasWaitedFor(t *testing.T) {
	c := exec.Command("sleep", "3600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprint(c.Process.Pid, " (sleep)")
	listed := func() bool {
		return slices.ContainsFunc(Children(t), func(stat string) bool { return strings.HasPrefix(stat, name) })
	}
	if !listed() {
		t.Errorf("%s is not among %q", name, Children(t))
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // returns an error, because the program was killed
	if listed() {
		t.Errorf("%s is among %q, though it was waited for", name, Children(t))
	}
}
