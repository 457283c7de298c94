package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// hashDigits is the number of digits of a hash that suffice to tell histories apart.
const hashDigits = 16

// replay returns the command line that runs a trial again. A named or deterministic trial is
// replayed alone, a deterministic one with its expected hash. For any other trial, the command runs
// a campaign of its cell up to that trial; the trial's seed stays the same, because it does not
// depend on other trials.
func replay(info Info, t trial.Result) string {
	s := t.Spec
	words := []string{"lockstorm", "run", "--testbed", s.Testbed, "--locks", s.Lock, "--faults", s.Fault, "--workloads", s.Workload}
	count, k := "--trials", s.Trial+1
	if info.Deterministic || s.Named() {
		words = []string{"lockstorm", "replay", "--testbed", s.Testbed, "--lock", s.Lock, "--fault", s.Fault, "--workload", s.Workload}
		count, k = "--trial", s.Trial
	}
	if s.Named() {
		words = append(words, "--schedule", s.Schedule)
	} else {
		words = append(words, "--seed", strconv.FormatUint(cmp.Or(s.DrawnFrom, info.Config.Seed), 10), count, strconv.Itoa(k))
	}
	words = append(words, info.Config.flags()...)
	words = append(words, info.Config.TestbedFlags...)
	if info.Deterministic && !info.varies(s.Lock) && len(t.Hash) > hashDigits {
		words = append(words, "--hash", t.Hash[:hashDigits])
	}
	return wording.Command(words...)
}

// command returns the command line of a campaign of these recipes on the default testbed, with what c chooses
// to try and how. The options more come first.
func (c Config) command(ids []string, more ...string) string {
	words := append([]string{"lockstorm", "run"}, more...)
	d := DefaultConfig()
	for _, f := range []struct {
		name   string
		is, by []string
	}{{"locks", ids, d.Locks}, {"faults", c.Faults, d.Faults}, {"workloads", c.Workloads, d.Workloads}} {
		if is := trimmed(f.is); !slices.Equal(is, f.by) {
			words = append(words, "--"+f.name, strings.Join(is, ","))
		}
	}
	if c.Clean {
		words = append(words, "--clean")
	}
	if c.Expect {
		words = append(words, "--expect")
	}
	if c.Trials > 0 {
		words = append(words, "--trials", strconv.Itoa(c.Trials))
	}
	return wording.Command(slices.Concat(words, c.flags(), c.TestbedFlags)...)
}

// flags returns the flags that shape a trial and differ from their defaults.
func (c Config) flags() (words []string) {
	d := DefaultConfig()
	for _, f := range []struct {
		name  string
		value string
		same  bool
	}{
		{"topology", string(c.Topology), c.Topology == d.Topology},
		{"nodes", strconv.Itoa(c.Nodes), c.Nodes == d.Nodes},
		{"clients", strconv.Itoa(c.Clients), c.Clients == d.Clients},
		{"keys", strconv.Itoa(c.Keys), c.Keys == d.Keys},
		{"lock-tokens", string(c.Tokens), c.Tokens == d.Tokens},
		{"ttl", c.TTL.String(), c.TTL == d.TTL},
		{"hold", c.Hold.String(), c.Hold == d.Hold},
		{"rest", c.Rest.String(), c.Rest == d.Rest},
		{"command-timeout", c.CommandTimeout.String(), c.CommandTimeout == d.CommandTimeout},
		{"overrun", fmt.Sprint(c.Overrun), c.Overrun == d.Overrun},
		{"duration", c.Duration.String(), c.Duration == d.Duration},
		{"timeout", c.Timeout.String(), c.Timeout == d.Timeout},
	} {
		if !f.same {
			words = append(words, "--"+f.name, f.value)
		}
	}
	if c.ShareLinks {
		words = append(words, "--share-links")
	}
	if c.Trusting {
		words = append(words, "--clients-trust")
	}
	if c.ClientsAs == trial.Processes {
		words = append(words, "--clients-as", trial.Processes)
	}
	return words
}
