package external

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// family is the beginning of the prefixes of all trials. An ACL user for trials must be
// permitted ~lockstorm:* and &lockstorm:*.
const family = "lockstorm:"

// newPrefix returns a random prefix for one testbed. The prefixes of the testbed's trials begin
// with it. The prefix is not derived from a trial's seed: two runs of one trial must not share
// keys.
func newPrefix() string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return family + hex.EncodeToString(random[:]) + ":"
}

// guard confines one trial's commands on one server to names with the trial's prefix. It
// adds the prefix to every key and channel, removes it from replies, and refuses commands
// whose keys and channels it cannot find. A client sees "lock-0" where the server has
// "lockstorm:4fc1…:7:lock-0".
type guard struct {
	prefix string

	mu    sync.Mutex
	names map[string]bool // keys in commands so far, without the prefix
}

func newGuard(prefix string) *guard { return &guard{prefix: prefix, names: map[string]bool{}} }

// errRefused marks the error for a command that the guard refuses.
var errRefused = errors.New("it is not sent to a server that others may use")

// confine returns the command with the prefix added to its keys and channels, or an error if the
// guard refuses the command.
func (g *guard) confine(args []history.Bytes) ([]string, error) {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = string(a)
	}
	name := strings.ToUpper(all[0])
	if !sent(name) {
		return nil, fmt.Errorf("%.40q: %w: it may touch other keys than the trial's", all[0], errRefused)
	}
	if confine := confiners[name]; confine != nil {
		confined, err := confine(g, all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, errRefused, err)
		}
		return confined, nil
	}
	c := resp.Lookup(name)
	for _, i := range c.Places(len(all)) {
		all[i] = g.own(all[i], !c.Is(resp.Channels))
	}
	return all, nil
}

// own returns the name with the prefix. If key is true, it also stores the name for named.
func (g *guard) own(name string, key bool) string {
	if key {
		g.mu.Lock()
		g.names[name] = true
		g.mu.Unlock()
	}
	return g.prefix + name
}

// named returns the keys in commands so far, without the prefix, sorted.
func (g *guard) named() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for name := range g.names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// eval confines EVAL, EVALSHA and their _RO variants.
func eval(g *guard, args []string) ([]string, error) {
	if len(args) < 3 {
		return args, nil // the server will answer with an error
	}
	n, err := strconv.Atoi(args[2])
	switch {
	case err != nil || n > len(args)-3:
		return args[:1], nil // the server answers with an error and runs nothing
	case n < 1:
		return nil, errors.New("a script that names no keys in KEYS may touch any")
	}
	if name := strings.ToUpper(args[0]); name == "EVAL" || name == "EVAL_RO" {
		if err := checkScript(args[1]); err != nil {
			return nil, err
		}
	}
	for i := range n {
		args[3+i] = g.own(args[3+i], true)
	}
	return args, nil
}

// script confines SCRIPT to LOAD, of scripts that checkScript accepts, and EXISTS.
func script(_ *guard, args []string) ([]string, error) {
	switch sub := subcommand(args); sub {
	case "LOAD":
		if len(args) > 2 {
			return args, checkScript(args[2])
		}
	case "EXISTS":
	default:
		return nil, fmt.Errorf("SCRIPT %s concerns everybody's scripts", sub)
	}
	return args, nil
}

// scan confines SCAN to the trial's own keys. It adds the prefix to every pattern: if there are
// several, a server uses only the last.
func scan(g *guard, args []string) ([]string, error) {
	matched := false
	for i := 2; i+1 < len(args); i += 2 {
		if strings.EqualFold(args[i], "MATCH") {
			args[i+1] = g.prefix + args[i+1]
			matched = true
		}
	}
	if !matched {
		args = append(args, "MATCH", g.prefix+"*")
	}
	return args, nil
}

// ownConnection are the subcommands of CLIENT that concern only the client's own connection.
var ownConnection = []string{"CACHING", "GETNAME", "ID", "INFO", "MAINT_NOTIFICATIONS", "NO-TOUCH", "SETINFO", "SETNAME", "TRACKINGINFO"}

// client confines CLIENT to subcommands that concern only the connection that sends them.
func client(_ *guard, args []string) ([]string, error) {
	sub := subcommand(args)
	// With BCAST, or with REDIRECT to somebody else's connection, TRACKING concerns others.
	wide := slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BCAST") || strings.EqualFold(a, "REDIRECT") })
	if sub == "TRACKING" && !wide || slices.Contains(ownConnection, sub) {
		return args, nil
	}
	return nil, fmt.Errorf("CLIENT %s may concern other clients", sub)
}

// hello refuses HELLO with AUTH.
func hello(_ *guard, args []string) ([]string, error) {
	if slices.ContainsFunc(args[1:], func(a string) bool { return strings.EqualFold(a, "AUTH") }) {
		return nil, errors.New("the testbed has logged in already")
	}
	return args, nil
}

func subcommand(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return strings.ToUpper(args[1])
}
