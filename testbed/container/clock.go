package container

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/mount"

	"github.com/lockstorm/lockstorm/testbed/clockshim"
	"github.com/lockstorm/lockstorm/testbed/tempdir"
)

// Paths, inside a container, of the files that give its server a wall clock of its own.
const (
	shimInside  = "/lockstorm/clockshim.so"
	clockInside = "/lockstorm/clock"
)

// Clocks implements live.Clockmaker.
func (p *provider) Clocks() error {
	if p.engine == nil {
		_, err := clockshim.Find()
		return err
	}
	return p.clocks
}

// ownClock returns the mounts and environment variables with which a container's server follows the
// clock in a file of this machine; none if clock is "".
func ownClock(clock string) (mounts []mount.Mount, environment []string, err error) {
	if clock == "" {
		return nil, nil, nil
	}
	shim, err := clockshim.Find()
	if err != nil {
		return nil, nil, err
	}
	return []mount.Mount{
		{Type: mount.TypeBind, Source: shim, Target: shimInside, ReadOnly: true},
		{Type: mount.TypeBind, Source: clock, Target: clockInside, ReadOnly: true},
	}, clockshim.Environment(shimInside, clockInside), nil
}

// clocks returns nil if servers of the image can have wall clocks of their own, else the reason in
// one line. If try is true, it starts a server to check that the server loads the clock shim;
// otherwise it assumes so.
func (e *engine) clocks(ctx context.Context, i image, try bool, temp string) error {
	if _, err := clockshim.Find(); err != nil {
		return err
	}
	if e.facts.desktop {
		return errors.New("a node's clock is set in memory that it shares with this program, and Docker Desktop's containers run in a virtual machine")
	}
	if !try {
		return nil
	}
	took, err := e.takesClock(ctx, i, temp)
	if err != nil {
		return fmt.Errorf("try a clock in a container: %w", err)
	}
	if !took {
		return fmt.Errorf("the server of image %s does not load the clock shim of this machine: it is static, or for another processor", i.name)
	}
	return nil
}

// anotherTime is how far takesClock sets the clock ahead: about ten years, so that the server's log
// shows another year.
const anotherTime = 10 * 366 * 24 * time.Hour

// takesClock starts the server with a clock that shows another year, and looks for that year in the
// server's output. The server ends at once, because it has nothing to listen on (port 0).
func (e *engine) takesClock(ctx context.Context, i image, temp string) (took bool, err error) {
	dir, err := tempdir.Make(temp)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	clock, err := clockshim.New(filepath.Join(dir.Path(), "clock"))
	if err != nil {
		return false, err
	}
	defer clock.Close()
	clock.Set(anotherTime)
	mounts, environment, err := ownClock(clock.Path())
	if err != nil {
		return false, err
	}
	said, err := e.output(ctx, i, []string{"--port", "0"}, mounts, environment)
	year := time.Now().Add(anotherTime).Year()
	return strings.Contains(said, fmt.Sprintf(" %d ", year)), err
}
