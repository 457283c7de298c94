package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// harnessVariable makes the test binary play a harness in the middle of a trial,
// with the directory for its nodes: it names their process ids and waits.
const harnessVariable = "LOCKSTORM_TEST_TRIAL"

func playHarness() {
	tb, err := New(Options{Temp: os.Getenv(harnessVariable)})
	if err == nil {
		err = tb.Run(context.Background(), testbed.Setup{
			Topology: testbed.Independent, Nodes: 3, Clients: 2,
			Clock: func() time.Duration { return 1 }, Commands: func(history.Command) {},
		}, func(ctx context.Context, e testbed.Env) error {
			for n := range 3 {
				pid, err := serverOf(ctx, e, n)
				if err != nil {
					return err
				}
				fmt.Println(pid)
			}
			select {}
		})
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestNoServerSurvivesAKilledHarness(t *testing.T) {
	harness := exec.Command(os.Args[0])
	harness.Env = append(os.Environ(), harnessVariable+"="+t.TempDir())
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 3 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		pids = append(pids, pid)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait()
	for _, pid := range pids {
		awaitEnd(t, pid)
	}
}

// awaitEnd waits until a process that is not our child is dead, reaped or not.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	const patience = time.Minute // of a busy machine
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Fatalf("process %d lives %v after its harness", pid, patience)
}
