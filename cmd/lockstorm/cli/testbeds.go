package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/container"
	"github.com/lockstorm/lockstorm/testbed/external"
	"github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// testbedChoice is a value of --testbed.
type testbedChoice struct {
	Name string
	Doc  string
	// New makes the testbed. An error says what is missing on this machine or in the flags.
	New func(context.Context, testbedFlags) (testbed.Testbed, error)
	// Sketch returns a testbed that only describes its topologies and capabilities, and is never
	// run. It is used if New fails. Nil = no description.
	Sketch func() testbed.Testbed
	// Virtual: time is simulated. Two trials with the same spec have the same history, and trials
	// run in worker processes.
	Virtual bool
	// Redis returns the version of the testbed's redis-server. Nil = there is none, or the
	// testbed's Version method returns it.
	Redis    func() (string, error)
	Defaults campaign.Defaults
}

// offer is the testbeds to choose from; the first is the default.
type offer []testbedChoice

var testbeds = offer{
	{
		Name:     "sim",
		Doc:      "a deterministic simulation in this program: virtual time, no Redis needed",
		New:      func(context.Context, testbedFlags) (testbed.Testbed, error) { return sim.New(), nil },
		Virtual:  true,
		Defaults: campaign.Defaults{Trials: 12, Parallel: runtime.NumCPU(), Named: true},
	},
	{
		Name:     "process",
		Doc:      "redis-server processes on this machine, toxiproxy on every link",
		New:      func(context.Context, testbedFlags) (testbed.Testbed, error) { return process.New(process.Options{}) },
		Redis:    redisVersion,
		Defaults: campaign.Defaults{Trials: 4, Parallel: 24}, // a campaign takes less than 8 minutes on 2 cores
	},
	{
		Name:   container.Name,
		Doc:    "Docker containers of any image of Redis or Valkey (--image), toxiproxy on every link",
		New:    newContainer,
		Sketch: container.Sketch,
		// On 2 cores, more parallel containers would not start sooner. The lease outlasts the restart
		// of a killed container, which takes up to 0.7 s, or up to 1.8 s on a busy machine.
		Defaults: campaign.Defaults{Trials: 2, Parallel: 6, TTL: 2 * time.Second},
	},
	{
		Name:     external.Name,
		Doc:      "any Redis that --addr names; only clients and their links to it are disturbed",
		New:      newExternal,
		Sketch:   external.Sketch,
		Defaults: campaign.Defaults{Trials: 4, Parallel: 4},
	},
	{
		Name:     container.LabName,
		Doc:      "the containers of the standing lab (make up), toxiproxy on every link",
		New:      newLab,
		Sketch:   container.SketchLab,
		Defaults: campaign.Defaults{Trials: 4, Parallel: 1, TTL: 2 * time.Second},
	},
}

func redisVersion() (string, error) {
	_, version, err := redisserver.Find()
	return version, err
}

func (t offer) choice(name string) (testbedChoice, error) {
	i := slices.IndexFunc(t, func(c testbedChoice) bool { return c.Name == name })
	if i < 0 {
		var names []string
		for _, c := range t {
			names = append(names, c.Name)
		}
		return testbedChoice{}, input.Errorf("unknown testbed %q: did you mean %s? (lockstorm list testbeds)", name, campaign.Nearest(name, names))
	}
	return t[i], nil
}

// open opens the testbed; done closes it.
func (c testbedChoice) open(ctx context.Context, f testbedFlags) (tb testbed.Testbed, done func() error, err error) {
	if tb, err = c.New(ctx, f); err != nil {
		return nil, nil, input.Errorf("--testbed %s: %w", c.Name, err)
	}
	done = func() error { return nil }
	if closer, ok := tb.(interface{ Close() error }); ok {
		done = closer.Close
	}
	return tb, done, nil
}

// worlds describes the testbed's worlds on this machine: topologies, capabilities, and why
// capabilities are lacking. missing says why the testbed is not available.
func (c testbedChoice) worlds() (topologies []testbed.Topology, able []testbed.Capability, lacks map[testbed.Capability]string, missing string) {
	tb, done, err := c.open(context.Background(), testbedFlags{})
	if err == nil {
		defer func() { _ = done() }() // nothing was run, so closing loses nothing
	} else {
		missing = strings.TrimPrefix(oneLine(err), "--testbed "+c.Name+": ")
		if errors.Is(err, errNoRedis) {
			missing = "--addr says which Redis" // only an address is missing
		}
		if c.Sketch == nil {
			return nil, nil, nil, missing
		}
		tb = c.Sketch()
	}
	topologies, able, lacks = worldsOf(tb)
	return topologies, able, lacks, missing
}

// worldsOf describes a testbed's worlds: topologies, capabilities, and why capabilities are
// lacking.
func worldsOf(tb testbed.Testbed) (topologies []testbed.Topology, able []testbed.Capability, lacks map[testbed.Capability]string) {
	if l, ok := tb.(testbed.Lacking); ok {
		lacks = l.Lacks()
	}
	return tb.Topologies(), tb.Capabilities(), lacks
}

// row returns the testbed's row in list testbeds. It includes why the testbed or a capability is
// not available.
func (c testbedChoice) row() []string {
	topologies, able, lacks, missing := c.worlds()
	var why []string
	if missing != "" {
		why = append(why, missing)
	}
	for _, l := range slices.Sorted(maps.Keys(lacks)) {
		why = append(why, string(l)+": "+lacks[l])
	}
	return []string{c.Name, c.Doc, wording.Join(topologies), wording.Join(able), strings.Join(why, "\n")}
}

// worker returns the command line of a worker process for the testbed; nil if trials run in
// this process.
func (c testbedChoice) worker() ([]string, error) {
	if !c.Virtual {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program for worker processes: %w", err)
	}
	return []string{self, workerName, "--testbed", c.Name}, nil
}

// versions returns the versions of the programs that a trial on the testbed uses.
func (c testbedChoice) versions(tb testbed.Testbed) (campaign.Versions, error) {
	v := versions()
	if told, ok := tb.(interface{ Version() string }); ok {
		v.Redis = told.Version()
	}
	if c.Redis == nil {
		return v, nil
	}
	var err error
	v.Redis, err = c.Redis()
	return v, err
}

// defaults describes, for a flag's help, each testbed's default.
func (t offer) defaults(of func(testbedChoice) string) string {
	var words []string
	for _, c := range t {
		words = append(words, c.Name+" "+of(c))
	}
	return "0 is the default, by testbed: " + strings.Join(words, ", ")
}

// tellLeases adds the testbeds' own default leases to the help of --ttl.
func (t offer) tellLeases(flags *pflag.FlagSet) {
	var others []string
	for _, c := range t {
		if c.Defaults.TTL > 0 {
			others = append(others, fmt.Sprintf("%s %v", c.Name, c.Defaults.TTL))
		}
	}
	if len(others) > 0 {
		flags.Lookup("ttl").Usage += ", if not chosen by testbed: " + strings.Join(others, ", ")
	}
}

// lease returns the lease time: the testbed's default if the user chose none.
func (c testbedChoice) lease(ttl time.Duration, chosen bool) time.Duration {
	if chosen {
		return ttl
	}
	return cmp.Or(c.Defaults.TTL, ttl)
}

// namedDefaults says which testbeds run named schedules by default.
func (t offer) namedDefaults() string {
	var words []string
	for _, c := range t {
		words = append(words, fmt.Sprintf("%s %v", c.Name, c.Defaults.Named))
	}
	return "default by testbed: " + strings.Join(words, ", ")
}

func trialsOf(c testbedChoice) string { return strconv.Itoa(c.Defaults.Trials) }

func parallelOf(c testbedChoice) string {
	if c.Virtual {
		return "one per core"
	}
	return strconv.Itoa(c.Defaults.Parallel)
}
