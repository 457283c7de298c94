package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/redisserver"
)

// engine is the Docker engine of this machine.
type engine struct {
	docker *testcontainers.DockerProvider
	client client.APIClient
	facts  facts

	leaving sync.Mutex // held while a container is removed
}

// facts are the properties of an engine that decide how its containers are made.
type facts struct {
	desktop  bool   // Docker Desktop: containers run in a virtual machine
	rootless bool   // the engine runs without root: this program cannot listen at its networks' gateways
	user     string // the user that servers run as, chosen so that our user owns their files
	userns   bool   // container users are mapped to other users of this machine
	labels   bool   // SELinux denies containers access to our files
}

// answerTimeout bounds how long the engine, or the lab's Redis, may take to answer its first request.
const answerTimeout = 10 * time.Second

// callTimeout bounds a request to the engine, or a short series of requests, on a busy machine.
const callTimeout = 2 * time.Minute

// quiet turns off testcontainers' log and its reaper. That reaper is a container whose
// image is not available everywhere; ours needs no image.
var quiet = sync.OnceFunc(func() {
	log.SetDefault(log.NewNoopLogger())
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
})

// connect finds the engine and checks that the engine answers. It looks where the docker command
// looks, or else where testcontainers does. Errors have one line.
func connect(ctx context.Context) (*engine, error) {
	quiet()
	docker, err := testcontainers.NewDockerProvider(testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge))
	if err != nil {
		return nil, fmt.Errorf("no Docker engine: %w", err)
	}
	e := &engine{docker: docker, client: docker.Client()}
	defer e.idle()
	host := e.client.DaemonHost()
	if asked := os.Getenv(client.EnvOverrideHost); asked != "" && asked != host {
		return nil, fmt.Errorf("no Docker engine answers at $%s %s", client.EnvOverrideHost, asked)
	}
	if !strings.HasPrefix(host, "unix://") && !strings.HasPrefix(host, "npipe://") {
		return nil, fmt.Errorf("the Docker engine at %s may be another machine's: trials need one that shares files and ports with this one", host)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, err := e.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, fmt.Errorf("no Docker engine answers: %w", err)
	}
	e.facts = factsOf(info.Info, os.Getuid(), os.Getgid())
	return e, nil
}

// factsOf derives the facts from an engine's description of itself, for a user of this
// machine.
func factsOf(info system.Info, uid, gid int) facts {
	has := func(name string) bool {
		return slices.ContainsFunc(info.SecurityOptions, func(o string) bool {
			return o == "name="+name || strings.HasPrefix(o, "name="+name+",")
		})
	}
	f := facts{
		desktop:  info.OperatingSystem == "Docker Desktop",
		rootless: has("rootless"),
		user:     fmt.Sprintf("%d:%d", uid, gid),
		userns:   has("userns"),
		labels:   has("selinux"),
	}
	if f.rootless {
		f.user = "0:0" // outside the container, this is the engine's user
	}
	return f
}

// idle closes unused connections to the engine.
func (e *engine) idle() { _ = e.docker.Close() }

// image is a Docker image for servers.
type image struct {
	name   string
	server string // the program, such as "redis-server"
}

// image returns the named image and the server in it. If pull is true, it pulls a missing image.
// Errors have one line.
func (e *engine) image(ctx context.Context, name string, pull bool) (image, error) {
	found, err := e.client.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		if !pull {
			return image{}, fmt.Errorf("image %s is not there yet; run pulls it, or make images builds %s", name, localImage)
		}
		if err := e.pull(ctx, name); err != nil {
			return image{}, err
		}
		found, err = e.client.ImageInspect(ctx, name)
	}
	if err != nil {
		return image{}, fmt.Errorf("image %s: %w", name, err)
	}
	i := image{name: name, server: "redis-server"}
	if found.Config != nil && len(found.Config.Cmd) > 0 && strings.HasSuffix(path.Base(found.Config.Cmd[0]), "-server") {
		i.server = found.Config.Cmd[0] // "valkey-server"
	}
	return i, nil
}

// localImage is the image that "make images" builds, for machines that cannot pull one.
const localImage = "lockstorm/redis:local"

const pullTimeout = 10 * time.Minute

// pull downloads an image, as docker pull does.
func (e *engine) pull(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	var o client.ImagePullOptions
	// A missing or unknown login is no error: the image may be public.
	if _, login, err := testcontainers.DockerImageAuth(ctx, name); err == nil {
		if o.RegistryAuth, err = authconfig.Encode(login); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
	}
	stream, err := e.client.ImagePull(ctx, name, o)
	if err == nil {
		err = stream.Wait(ctx)
	}
	if err != nil {
		return input.Errorf("image %s is not there and cannot be pulled: %w (make images builds %s: name it with %s or $%s)",
			name, err, localImage, input.Setting("image"), ImageVariable)
	}
	return nil
}

// askVersion runs the image's server with --version.
func (e *engine) askVersion(ctx context.Context, i image) (string, error) {
	said, err := e.output(ctx, i, []string{"--version"}, nil, nil)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.name, err)
	}
	version, err := redisserver.CheckVersion(said)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.name, err)
	}
	return version, nil
}

// question is the session of this program's containers that are in none.
func question() string { return fmt.Sprintf("question-%d", os.Getpid()) }

// output runs the image's server until the server ends by itself, and returns its output.
// It waits for at most callTimeout.
func (e *engine) output(ctx context.Context, i image, args []string, mounts []mount.Mount, environment []string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	made, err := e.client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{
			Image: i.name, Entrypoint: []string{i.server}, Cmd: args, Env: environment, User: e.facts.user,
			Labels: map[string]string{labelSession: question()},
		},
		// AutoRemove, for the case that this program is killed.
		HostConfig: e.facts.host(&container.HostConfig{NetworkMode: "none", Mounts: mounts, AutoRemove: true}),
	})
	if err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		err = errors.Join(err, e.removeContainer(ctx, made.ID))
	}()
	stream, err := e.attach(ctx, made.ID)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	if _, err := e.client.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, stream.Close)() // the read ignores ctx
	var text bytes.Buffer
	_, err = stdcopy.StdCopy(&text, &text, stream.Reader)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s %s did not end: %w", i.server, strings.Join(args, " "), ctx.Err())
	}
	return text.String(), err
}

// attach opens a container's output. The client's call ignores ctx once it has reached the
// engine; if the engine does not answer, attach abandons the call when ctx ends.
func (e *engine) attach(ctx context.Context, id string) (client.HijackedResponse, error) {
	var output client.ContainerAttachResult
	answered := make(chan error, 1)
	go func() {
		var err error
		output, err = e.client.ContainerAttach(ctx, id, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
		answered <- err
	}()
	select {
	case err := <-answered:
		return output.HijackedResponse, err
	case <-ctx.Done():
		go func() {
			if err := <-answered; err == nil {
				output.Close() // the answer came too late
			}
		}()
		return client.HijackedResponse{}, ctx.Err()
	}
}

// host completes a container's host configuration: the container may use our files, and the
// engine does not log its output.
func (f facts) host(h *container.HostConfig) *container.HostConfig {
	h.LogConfig = container.LogConfig{Type: "none"}
	if f.userns {
		h.UsernsMode = "host"
	}
	if f.labels {
		h.SecurityOpt = []string{"label=disable"}
	}
	return h
}
