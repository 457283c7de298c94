package external

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// findings describe a server before the first trial.
type findings struct {
	id      string            // the server's run_id; "" if unknown
	version string            // such as "7.2.4" or "Valkey 8.0.1"; "" if unknown
	info    map[string]string // fields of INFO
	blind   error             // why INFO failed; nil if it succeeded
}

// probeKey is written, after the prefix, to check whether the testbed may write. It expires after
// probeLife.
const probeKey, probeLife = "probe", time.Second

// inspect returns what New must know about a server, and writes probeKey to it. The error says in one
// line why the server cannot be used. Only a server of our own may be used by a user that is not confined.
func inspect(ctx context.Context, t target, prefix string, own bool) (findings, error) {
	f := findings{info: map[string]string{}}
	s := newServer(t, prefix)
	err := s.ask(ctx, func(ctx context.Context, c *redis.Client) error {
		if err := c.Ping(ctx).Err(); err != nil {
			return err
		}
		sections, err := c.InfoMap(ctx).Result()
		if err != nil {
			f.blind = err
		}
		for _, fields := range sections {
			for name, value := range fields {
				f.info[name] = value
			}
		}
		if err := f.usable(); err != nil {
			return err
		}
		if !own {
			if err := confined(ctx, c); err != nil {
				return err
			}
		}
		if err := c.Set(ctx, prefix+probeKey, 1, probeLife).Err(); err != nil {
			return fmt.Errorf("it does not let us write keys that contain %s: %w", family, err)
		}
		return nil
	})
	_ = s.Clean([]string{prefix + probeKey}) // an error is harmless: the key expires
	if err != nil {
		return f, t.refusal(err)
	}
	return f, nil
}

// The oldest supported version of Redis.
const leastMajor, leastMinor = 6, 2

// usable sets id and version, and returns the reason why no trial can run on the server; nil if trials
// can run. If INFO failed, it sets nothing and returns nil, since the reasons are unknown.
func (f *findings) usable() error {
	if f.blind != nil {
		return nil // INFO failed: unknown whether trials can run
	}
	f.id, f.version = f.info["run_id"], f.info["redis_version"]
	major, minor, _ := strings.Cut(f.version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	if a < leastMajor || a == leastMajor && b < leastMinor {
		return fmt.Errorf("it is Redis %s: expected at least %d.%d", f.version, leastMajor, leastMinor)
	}
	if v := f.info["valkey_version"]; v != "" {
		f.version = "Valkey " + v
	}
	switch {
	case f.info["redis_mode"] == "sentinel":
		return errors.New("it is a Sentinel: expected the address of a primary")
	case f.info["redis_mode"] == "cluster" || f.info["cluster_enabled"] == "1":
		return errors.New("it is a node of a cluster, which this testbed cannot use")
	case f.info["role"] == "slave":
		return fmt.Errorf("it is a replica: expected its primary, %s:%s", f.info["master_host"], f.info["master_port"])
	case f.info["loading"] == "1":
		return errors.New("it is loading its data")
	}
	return nil
}

// Limits of the load on a server that others may use. Beyond them, Options.Really is
// required.
const (
	modestClients  = 16 // per trial
	modestParallel = 8  // concurrent trials
	connsPerClient = 4  // per client and server, at most
	fullMemory     = 0.9
	fullClients    = 0.75
)

// Harms is a help text: it lists the cases in which Options.Really is required.
var Harms = fmt.Sprintf("go on although a server that others use might be hurt: more than %d clients, more than %d trials at a time, or a server that has replicas, has more than %.0f %% of its memory or %.0f %% of its connections in use, or does not tell (INFO)",
	modestClients, modestParallel, 100*fullMemory, 100*fullClients)

// harm lists the reasons why trials might harm other users of the server.
func (f *findings) harm(o Options) []string {
	var why []string
	if o.Clients > modestClients {
		why = append(why, fmt.Sprintf("%d clients are a load that others may feel (more than %d)", o.Clients, modestClients))
	}
	if o.Parallel > modestParallel {
		why = append(why, fmt.Sprintf("%d trials at a time are a load that others may feel (more than %d)", o.Parallel, modestParallel))
	}
	if f.blind != nil {
		return append(why, fmt.Sprintf("it does not tell who else uses it, and whether it is nearly full (%v)", f.blind))
	}
	if n := f.number("connected_slaves"); n > 0 {
		why = append(why, fmt.Sprintf("it has %.0f replicas, to which every write goes", n))
	}
	if most := f.number("maxmemory"); most > 0 && f.number("used_memory") > fullMemory*most {
		why = append(why, fmt.Sprintf("its memory is nearly full (%s of %s, %s): keys of ours may push out others, or make their writes fail",
			f.info["used_memory_human"], f.info["maxmemory_human"], f.info["maxmemory_policy"]))
	}
	needed := float64(max(1, o.Parallel) * max(1, o.Clients) * connsPerClient)
	if most := f.number("maxclients"); most > 0 && f.number("connected_clients")+needed > fullClients*most {
		why = append(why, fmt.Sprintf("its connections are nearly used up (%s of %s)", f.info["connected_clients"], f.info["maxclients"]))
	}
	return why
}

func (f *findings) number(field string) float64 {
	n, _ := strconv.ParseFloat(f.info[field], 64)
	return n
}
