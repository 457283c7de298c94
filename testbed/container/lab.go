package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// LabName is the name of the testbed that runs trials in the lab.
const LabName = "compose"

// labVariable is the environment variable that names the lab, "lockstorm" by default. The names of
// the lab's containers begin with this name.
const labVariable = "LOCKSTORM_LAB"

const (
	labMasters = 5
	labPort    = 6379 // the server's port in each container
)

// Lab runs trials, one at a time, on the masters of the standing lab, which docker-compose.yml
// describes. Each trial starts new, empty servers. Close gives the masters back.
type Lab struct {
	*live.Testbed
	lab *lab
}

// OpenLab returns the lab, locked for this process. It returns an error if parallel, the number of
// trials at a time, is greater than 1, if the lab is not running, or if another process runs trials in
// the lab.
func OpenLab(ctx context.Context, parallel int) (*Lab, error) {
	if parallel > 1 {
		return nil, fmt.Errorf("%d trials at a time: the lab can run only one", parallel)
	}
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer e.idle()
	l := &lab{name: cmp.Or(os.Getenv(labVariable), "lockstorm"), session: &session{engine: e}, turn: make(chan struct{}, 1)}
	if err := l.find(ctx); err != nil {
		return nil, fmt.Errorf("%w: start the lab with `make up`", err)
	}
	if err := l.takeOver(); err != nil {
		return nil, err
	}
	return &Lab{live.New(l, ""), l}, nil
}

// SketchLab returns a testbed that only describes the lab's worlds. It cannot run trials.
func SketchLab() testbed.Testbed { return live.New(&lab{}, "") }

// Nodes returns the number of the lab's independent nodes.
func (*Lab) Nodes() int { return labMasters }

// Version returns the version of the lab's Redis.
func (l *Lab) Version() string { return l.lab.version }

// Close restarts the masters that trials have used, empty and with the lab's own configuration, and
// unlocks the lab. No trial may be running.
func (l *Lab) Close() error {
	defer l.lab.session.engine.idle()
	return errors.Join(l.lab.restore(), l.lab.lock.Close())
}

// lab implements live.Provider.
type lab struct {
	name    string
	session *session // with the lab's network, which must not be removed
	version string
	masters []*box
	dirs    []string // directories of this machine, each mounted at data in a master
	lock    *os.File
	turn    chan struct{} // a lock held by the running trial

	mu   sync.Mutex
	used map[int]bool // masters that trials have used
}

func (*lab) Name() string { return LabName }

// Open implements live.Provider. It waits until no other trial runs.
func (l *lab) Open(ctx context.Context) (live.Place, error) {
	select {
	case l.turn <- struct{}{}:
		return labPlace{place{l.session}, l}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find finds the lab's containers, their directories and their network.
func (l *lab) find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for i := range labMasters {
		name := fmt.Sprintf("%s-master-%d", l.name, i)
		look, err := l.session.engine.client.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
		if err != nil {
			return fmt.Errorf("no container %s: %w", name, err)
		}
		dir := mountedAt(look.Container, data)
		if dir == "" {
			return fmt.Errorf("container %s has no directory of this machine at %s: it is of an older lab, which `make down` removes", name, data)
		}
		network := look.Container.NetworkSettings.Networks[l.name+"_default"]
		if network == nil || look.Container.State == nil || !look.Container.State.Running {
			return fmt.Errorf("container %s is not running in the lab's network", name)
		}
		l.session.network, l.session.gateway = network.NetworkID, network.Gateway
		b := &box{session: l.session, id: look.Container.ID, port: labPort}
		b.remove = func() error { return b.kill(context.Background()) }
		l.masters, l.dirs = append(l.masters, b), append(l.dirs, dir)
	}
	return l.ask(ctx)
}

// mountedAt returns the directory of this machine that a container mounts at the path where; "" if
// none.
func mountedAt(c container.InspectResponse, where string) string {
	for _, m := range c.Mounts {
		if m.Destination == where && m.Type == "bind" {
			return m.Source
		}
	}
	return ""
}

// ask asks the first master for its version, and sets l.version.
func (l *lab) ask(ctx context.Context) error {
	addr, _, err := l.masters[0].addresses(ctx)
	if err != nil {
		return err
	}
	c := redis.NewClient(testbed.RedisOptions(addr, answerTimeout))
	info, err := c.InfoMap(ctx, "server").Result()
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("no Redis at %s: %w", addr, testbed.BareError(err))
	}
	l.version = info["Server"]["redis_version"]
	return nil
}

// takeOver locks the lab against other processes. The lock file is never removed: otherwise
// two processes could each lock a file of that name.
func (l *lab) takeOver() error {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "lockstorm-lab-"+l.name+".lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return fmt.Errorf("lock of the lab: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return errors.New("another process uses the lab, which can serve only one run at a time")
	}
	l.lock = f
	return nil
}

// restore restarts the masters that trials have used, with no data, and waits until they answer.
func (l *lab) restore() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var errs []error
	for i := range l.used {
		b := l.masters[i]
		err := errors.Join(b.kill(ctx), empty(l.dirs[i]))
		if err == nil {
			_, err = l.session.engine.client.ContainerStart(ctx, b.id, client.ContainerStartOptions{})
		}
		if err == nil {
			err = b.awaitAnswer(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("start %s-master-%d again: %w", l.name, i, err))
		}
	}
	return errors.Join(errs...)
}

// kill kills the box's server, if one runs, and waits for its end.
func (b *box) kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c := b.session.engine.client
	_, err := c.ContainerKill(ctx, b.id, client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil && !errdefs.IsConflict(err) { // conflict: nothing runs
		return fmt.Errorf("kill: %w", err)
	}
	end := c.ContainerWait(ctx, b.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-end.Result:
		return nil
	case err := <-end.Error:
		return fmt.Errorf("wait for the end: %w", err)
	}
}

// empty removes everything in a directory.
func empty(dir string) error {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, f.Name())))
	}
	return err
}

// labPlace implements live.Place: the lab during one trial.
type labPlace struct {
	place
	lab *lab
}

var _ live.Housed = labPlace{}

// Dir implements live.Housed.
func (p labPlace) Dir(node string) string {
	if i, ok := p.lab.number(node); ok {
		return p.lab.dirs[i]
	}
	return ""
}

// number returns the index of the node's master: node n1 runs on master 1.
func (l *lab) number(node string) (int, bool) {
	i, err := strconv.Atoi(strings.TrimPrefix(node, "n"))
	return i, err == nil && i < len(l.masters)
}

// Start implements live.Place. A node's first start in a trial kills the previous server
// and removes its data.
func (p labPlace) Start(ctx context.Context, o live.ServerOptions) (live.Server, error) {
	i, ok := p.lab.number(o.Name)
	if !ok {
		return nil, fmt.Errorf("node %s: the lab has %d masters", o.Name, labMasters)
	}
	b := p.lab.masters[i]
	if o.Before == nil {
		p.lab.mu.Lock()
		if p.lab.used == nil {
			p.lab.used = map[int]bool{}
		}
		p.lab.used[i] = true
		p.lab.mu.Unlock()
		if err := errors.Join(b.kill(ctx), empty(o.Dir)); err != nil {
			return nil, fmt.Errorf("node %s: %w", o.Name, err)
		}
	}
	s, err := b.start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	return s, nil
}

// Close implements live.Place. It lets the next trial use the lab.
func (p labPlace) Close() error {
	p.lab.session.engine.idle()
	<-p.lab.turn
	return nil
}
