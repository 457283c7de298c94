package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// reaper is the process that outlives this one if need be. The pipe to it tells
// when this one has ended, however it did.
type reaper struct {
	process *exec.Cmd
	pipe    io.WriteCloser
}

// startReaper starts it in a session of its own, so that it survives the end of
// everything that this program's terminal has started.
func startReaper(command []string) (*reaper, error) {
	r := &reaper{process: exec.Command(command[0], command[1:]...)}
	r.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if r.pipe, err = r.process.StdinPipe(); err == nil {
		err = r.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the process that removes containers: %w", err)
	}
	return r, nil
}

// dismissal is what the reaper reads if there is nothing left for it to do.
const dismissal = "all is removed\n"

// end ends the reaper if all is removed. Else it is left to itself: it outlives this
// process if the engine takes long to answer again.
func (r *reaper) end(removed bool) error {
	if !removed {
		return errors.Join(r.pipe.Close(), r.process.Process.Release())
	}
	_, err := io.WriteString(r.pipe, dismissal)
	err = errors.Join(err, r.pipe.Close(), r.process.Wait())
	if err != nil {
		return fmt.Errorf("the process that removes containers: %w", err)
	}
	return nil
}

// How long Reap tries, and how long it is watchful for what the engine was still
// making when its owner died.
const (
	reapTimeout = 10 * time.Minute
	reapAgain   = time.Second
	reapWatch   = 5 * time.Second
)

// Reap waits until alive ends, and then removes the session's containers and networks,
// unless the owner has. The session's owner keeps alive open as long as it lives. The
// process of Options.Reaper does nothing else.
func Reap(session string, alive io.Reader) error {
	e, err := connect(context.Background()) // while the engine is there: it may go with the owner
	if err != nil {
		return err
	}
	said, err := io.ReadAll(alive)
	if err != nil {
		return fmt.Errorf("wait for the owner's end: %w", err)
	}
	if string(said) == dismissal {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), reapTimeout)
	defer cancel()
	again := time.NewTicker(reapAgain)
	defer again.Stop()
	for clean := time.Now(); ; {
		if err = e.remove(ctx, session); err != nil {
			clean = time.Now()
		} else if time.Since(clean) >= reapWatch {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// remove removes all containers and networks of a session.
func (e *engine) remove(ctx context.Context, session string) error {
	return e.removeIf(ctx, labelSession+"="+session, func(map[string]string) bool { return true })
}

// removeLeftovers removes what sessions of ended processes left on this machine. What
// cannot be removed is left to the next call: somebody else may be removing it, and it is
// in nobody's way.
func (e *engine) removeLeftovers(ctx context.Context) {
	_ = e.removeIf(ctx, labelSession, dead)
}

// removeIf removes the containers and networks with a label whose labels satisfy so. It
// is no error if somebody else removes them first.
func (e *engine) removeIf(ctx context.Context, label string, so func(map[string]string) bool) error {
	labelled := make(client.Filters).Add("label", label)
	containers, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled})
	if err != nil {
		return fmt.Errorf("look for containers: %w", err)
	}
	var errs error
	for _, c := range containers.Items {
		if so(c.Labels) {
			errs = errors.Join(errs, e.removeContainer(ctx, c.ID))
		}
	}
	if errs != nil {
		return errs
	}
	networks, err := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: labelled})
	if err != nil {
		return fmt.Errorf("look for networks: %w", err)
	}
	for _, n := range networks.Items {
		if !so(n.Labels) {
			continue
		}
		if _, err := e.client.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove network %s: %w", n.Name, err)
		}
	}
	return nil
}

// removeContainer kills and removes a container, with what volumes its image gave
// it. One at a time: where several leave a network at the same instant, the network
// library of Docker 20.10 may lock itself up, and the engine never answers again
// (endpoint.sbLeave takes network and controller in one order, processEndpointDelete in
// the other).
func (e *engine) removeContainer(ctx context.Context, id string) error {
	e.leaving.Lock()
	defer e.leaving.Unlock()
	_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		return fmt.Errorf("remove container %.12s: %w", id, err)
	}
	return nil
}
