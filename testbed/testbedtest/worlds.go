package testbedtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

var topologyPromises = []promise{
	{name: "worlds can do what the testbed says", test: capabilities},
	{name: "worlds have the nodes of their topology", test: topologies, own: true},
}

var worlds = slices.Concat(topologyPromises, []promise{
	{name: "Exec tells the order on the node", test: executionOrder},
	{name: "a subscriber lets others run", test: subscriptions},
	{name: "tokens come from the seed", test: tokens},
	{name: "other libraries reach the nodes by address", test: addresses},
	{name: "the body's error is returned as it is", test: bodyErrors},
	{name: "a bad setup is one line", test: badSetups},
})

func capabilities(s suite) {
	able, have := s.open(s).Capabilities(), s.open(s).Topologies()
	for _, setup := range []testbed.Setup{single, clustered} {
		if !slices.Contains(have, setup.Topology) {
			continue
		}
		s.Run(string(setup.Topology), func(t *testing.T) {
			want := slices.DeleteFunc(slices.Clone(able), func(c testbed.Capability) bool { return !c.In(setup.Topology) })
			suite{t, s.open}.run(setup, func(w *testEnv) {
				got := testbed.CapabilitiesOf(w.Env)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					w.Errorf("the world has %s, want %s", got, want)
				}
			})
		})
	}
}

func topologies(s suite) {
	for name, c := range map[string]struct {
		setup testbed.Setup
		nodes string
	}{
		"single":        {single, "n0"},
		"replicated":    {replicated, "n0"},
		"independent":   {testbed.Setup{Topology: testbed.Independent}, "n0 n1 n2 n3 n4"},
		"three nodes":   {testbed.Setup{Topology: testbed.Independent, Nodes: 3, Clients: 1}, "n0 n1 n2"},
		"always synced": {testbed.Setup{Topology: testbed.Single, Durability: testbed.Always}, "n0"},
	} {
		if !slices.Contains(s.open(s).Topologies(), c.setup.Topology) {
			continue
		}
		s.Run(name, func(t *testing.T) {
			nodes := strings.Fields(c.nodes)
			commands := suite{t, s.open}.run(c.setup, func(w *testEnv) {
				if got := strings.Join(w.List(), " "); got != c.nodes {
					w.Errorf("List: got %s, want %s", got, c.nodes)
				}
				w.step(0, "acquire")
				for i := range nodes {
					w.must(w.redis(0, i).Set(w.ctx, "k", i, 0).Err())
				}
			})
			sets := named(commands, "SET")
			if len(sets) != len(nodes) {
				t.Fatalf("got %d SETs, want %d", len(sets), len(nodes))
			}
			for i, s := range sets {
				if s.Node != nodes[i] || s.N != 1 || s.Phase != "acquire" || s.Reply != "OK" || s.Exec == 0 ||
					!(s.Sent <= s.Arrived && s.Arrived <= s.Served && s.Served <= s.Replied) {
					t.Errorf("got %+v, want the first of the step on %s, seen all the way", s, nodes[i])
				}
			}
		})
	}
}

func executionOrder(s suite) {
	const clients, each = 4, 50
	commands := s.run(testbed.Setup{Topology: testbed.Single, Clients: clients}, func(w *testEnv) {
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				for range each {
					w.redis(c, 0).Incr(w.ctx, "k")
				}
			})
		}
		all.Wait()
	})
	byValue := map[string]int{}
	for _, c := range named(commands, "INCR") {
		byValue[string(c.Reply)] = c.Exec
	}
	for i := 2; i <= clients*each; i++ {
		a, b := byValue[fmt.Sprint(i-1)], byValue[fmt.Sprint(i)]
		if a == 0 || a >= b {
			s.Fatalf("INCR to %d ran as %d, to %d as %d", i-1, a, i, b)
		}
	}
}

func subscriptions(s suite) {
	s.run(single, func(w *testEnv) {
		sub := w.redis(0, 0).Subscribe(w.ctx, "news")
		defer sub.Close()
		_, err := sub.Receive(w.ctx)
		w.must(err)
		w.mustSet(0, "k", "1")
		if n, err := w.redis(1, 0).Publish(w.ctx, "news", "x").Result(); n != 1 || err != nil {
			w.Errorf("PUBLISH: got %d, %v, want one subscriber", n, err)
		}
		if m, err := sub.ReceiveMessage(w.ctx); err != nil || m.Payload != "x" {
			w.Errorf("got %v, %v, want x", m, err)
		}
	})
}

func tokens(s suite) {
	token := func(seed uint64) (token string) {
		s.run(testbed.Setup{Topology: testbed.Single, Seed: seed}, func(w *testEnv) {
			var err error
			token, err = w.Client(1).Locks().Token()
			w.must(err)
		})
		return token
	}
	if a, b, c := token(1), token(1), token(2); a != b || a == c {
		s.Errorf("seeds 1, 1, 2: got %s, %s, %s", a, b, c)
	}
}

func addresses(s suite) {
	s.run(single, func(w *testEnv) {
		l := w.Client(0).Locks()
		c := redis.NewClient(&redis.Options{Addr: l.Addrs[0], Dialer: l.Dial, DisableIdentity: true})
		defer c.Close()
		if err := c.Ping(w.ctx).Err(); err != nil {
			w.Error(err)
		}
		if _, err := l.Dial(w.ctx, "tcp", "127.0.0.1:1"); err == nil {
			w.Error("an unknown address can be dialled")
		}
	})
}

func bodyErrors(s suite) {
	want := errors.New("body")
	if _, err := s.try(single, func(*testEnv) error { return want }); err != want {
		s.Errorf("got %v, want %v", err, want)
	}
}

func badSetups(s suite) {
	for name, c := range map[string]struct {
		setup testbed.Setup
		want  string
	}{
		"topology":   {testbed.Setup{Topology: "ring"}, `topology "ring"`},
		"durability": {testbed.Setup{Topology: testbed.Single, Durability: "some"}, `durability "some"`},
		"clients":    {testbed.Setup{Topology: testbed.Single, Clients: -1}, "at least one of each"},
		"nodes":      {testbed.Setup{Topology: testbed.Independent, Nodes: -1}, "at least one of each"},
	} {
		s.Run(name, func(t *testing.T) {
			_, err := suite{t, s.open}.try(c.setup, func(*testEnv) error { t.Error("body was called"); return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}
