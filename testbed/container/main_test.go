package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Values of the test binary's first argument that make it play a reaper, or a harness in the middle
// of a trial.
const (
	playReaper  = "play-reaper"
	playHarness = "play-harness"
)

// needVariable is an environment variable. If it is set, the tests fail without containers.
const needVariable = "LOCKSTORM_NEED_CONTAINERS"

// shared is the testbed of all tests, because opening a session takes time. missing says why there
// is no shared testbed.
var (
	shared  *Testbed
	missing error
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case playReaper:
			exitOn(Reap(os.Args[2], os.Stdin))
		case playHarness:
			exitOn(harness(os.Args[2]))
		}
	}
	if shared, missing = openShared(); missing != nil {
		fmt.Fprintf(os.Stderr, "testbed/container: NOT TESTED on containers: %v\n", missing)
		if os.Getenv(needVariable) != "" {
			os.Exit(1)
		}
	}
	code := m.Run()
	if shared != nil {
		if err := errors.Join(shared.Close(), goleak.Find()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func options() Options {
	return Options{
		Image: cmp.Or(os.Getenv(ImageVariable), localImage), Temp: memory(), Reaper: []string{os.Args[0], playReaper},
	}
}

// memory returns a directory in memory if there is one: on a busy disk, Redis delays its writes.
func memory() string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		return ""
	}
	return "/dev/shm"
}

// openShared does not pull an image: the tests use an image that is there.
func openShared() (*Testbed, error) { return New(context.Background(), options()) }
