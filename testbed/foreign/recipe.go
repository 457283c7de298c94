package foreign

import (
	"errors"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Recipe returns the recipe of the lock that this command line serves. Its claims are the abilities,
// which Probe finds out.
func Recipe(id string, argv []string, able Abilities) locks.Recipe {
	topology := locks.Single
	if able.Independent {
		topology = locks.Independent
	}
	return locks.Recipe{
		ID: id, Own: true, Apart: true, Summary: strings.Join(argv, " "), Topology: topology,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			return history.Claims{
				Quorum: nodes/2 + 1, TTL: ttl, Recovery: ttl, Extends: able.Extend, Fenced: able.Fence,
				ReadWrite: able.Readers, Reentrant: able.Reentrant, Waits: able.Blocking, Renews: able.Renews,
			}
		},
		Flaws: locks.Limits(locks.Known{Deadlines: able.Until, Fenced: able.Fence, Reentrant: able.Reentrant, Renews: able.Renews}),
		New: func(c *locks.Client) (locks.Maker, error) {
			make, _, err := Start(c, argv)
			return make, err
		},
	}
}

// Start starts the command for the client. The child ends with the client's context. An error is one line
// that says what the child did, with the end of its standard error.
func Start(c *locks.Client, argv []string) (locks.Maker, Abilities, error) {
	p, err := start(c, argv)
	if err != nil {
		return nil, Abilities{}, err
	}
	return p.maker, *p.able, nil
}

// Probe starts the command for the client, returns what its lock can do, and ends it.
func Probe(c *locks.Client, argv []string) (Abilities, error) {
	p, err := start(c, argv)
	if err != nil {
		return Abilities{}, err
	}
	defer p.kill()
	return *p.able, nil
}

// maker implements locks.Maker.
func (p *process) maker(key string, ttl time.Duration) (locks.Lock, error) {
	if key == "" || ttl < time.Millisecond {
		return nil, errors.New("expected a lock's name and a lease time of at least 1ms")
	}
	h := handle{p, request{Key: key, TTL: ttl.Milliseconds()}}
	m := &made{Blocks: p.able.Blocking}
	if p.able.Readers {
		m.Read, m.Write = m, m
	}
	return h.handles("write", m), nil
}
