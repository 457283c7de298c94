package testbedtest

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

var memories = []promise{
	{name: "a node under memory pressure evicts its keys", test: eviction, needs: testbed.CanMemory},
	{name: "an eviction reaches the replicas", test: replicatedEviction, needs: testbed.CanMemory},
}

func (w *testEnv) evict(node string) ([]history.KeyState, error) {
	return w.Env.(testbed.Memory).Evict(w.ctx, node, nil)
}

func eviction(s suite) {
	s.run(single, func(w *testEnv) {
		w.mustSet(0, "b", "1")
		w.must(w.redis(0, 0).HSet(w.ctx, "a", "f", "1").Err())
		for _, want := range [][]history.KeyState{
			{{Key: "a", Type: "hash", TTL: -1, Value: "f=1"}, {Key: "b", Type: "string", TTL: -1, Value: "1"}},
			nil, // the node has no more keys
		} {
			if got, err := w.evict("n0"); !slices.Equal(got, want) || err != nil {
				w.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
		if n, err := w.redis(0, 0).Exists(w.ctx, "a", "b").Result(); n != 0 || err != nil {
			w.Errorf("afterwards: got %d keys, %v, want none", n, err)
		}
		w.mustSet(0, "b", "2") // the node goes on
		w.check("n0", "b", "2")
		w.must(w.Kill(w.ctx, "n0", nil))
		if _, err := w.evict("n0"); err == nil {
			w.Error("on a killed node: got no error")
		}
	})
}

func replicatedEviction(s suite) {
	s.run(replicated, func(w *testEnv) {
		const key = "sync" // the key that inSync sets
		w.inSync(testbed.Replicas)
		stopped := w.stopReplication()
		_, err := w.evict("n0")
		w.must(err)
		time.Sleep(hasty)
		w.check("n0", key, "")
		w.check("n1", key, "1")
		w.must(stopped.err)
		stopped.liftAfter(1)
		w.await("n1", key, "")
		w.await("n2", key, "")
	})
}
