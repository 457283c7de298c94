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

// reaper is a process that removes a session's containers if this process dies. The pipe to the
// reaper closes when this process ends, for whatever reason.
type reaper struct {
	process *exec.Cmd
	pipe    io.WriteCloser
}

// startReaper starts a reaper as the leader of a new Unix session, so that signals from
// this program's terminal do not end it.
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

// dismissal is the message that tells the reaper that everything is removed already.
const dismissal = "all is removed\n"

// end ends the reaper if everything is removed. Otherwise the reaper now removes the rest, and may
// outlive this process.
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

// reapTimeout bounds Reap's attempts, and reapAgain is the time between two of them. Reap goes on
// until no attempt has failed for reapWatch: the engine may still have been making containers when
// the owner died.
const (
	reapTimeout = 10 * time.Minute
	reapAgain   = time.Second
	reapWatch   = 5 * time.Second
)

// Reap waits until alive ends, and then removes the session's containers and networks, unless the
// session's owner has removed them. The owner keeps alive open while it lives. The process of
// Options.Reaper does nothing but call Reap.
func Reap(session string, alive io.Reader) error {
	e, err := connect(context.Background()) // connect now: the engine's address may vanish with the owner
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

// labelSession is the label with the session's name, of the session's containers and networks.
const labelSession = "lockstorm.session"

// remove removes all containers and networks of a session. It is no error if another process removes them
// first.
func (e *engine) remove(ctx context.Context, session string) error {
	labelled := make(client.Filters).Add("label", labelSession+"="+session)
	containers, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled})
	if err != nil {
		return fmt.Errorf("look for containers: %w", err)
	}
	var errs error
	for _, c := range containers.Items {
		errs = errors.Join(errs, e.removeContainer(ctx, c.ID))
	}
	if errs != nil {
		return errs
	}
	networks, err := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: labelled})
	if err != nil {
		return fmt.Errorf("look for networks: %w", err)
	}
	for _, n := range networks.Items {
		if _, err := e.client.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove network %s: %w", n.Name, err)
		}
	}
	return nil
}

// removeContainer kills and removes a container and its anonymous volumes. It removes one
// container at a time: if several leave a network at once, the network library of Docker
// 20.10 may deadlock, and the engine never answers again (endpoint.sbLeave and
// processEndpointDelete lock network and controller in opposite orders).
func (e *engine) removeContainer(ctx context.Context, id string) error {
	e.leaving.Lock()
	defer e.leaving.Unlock()
	_, err := e.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
		return fmt.Errorf("remove container %.12s: %w", id, err)
	}
	return nil
}
