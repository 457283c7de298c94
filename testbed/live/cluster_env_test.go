package live

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// at is a listener whose address is 10.0.0.1 and the given port, so that go-redis does not take it
// for a loopback address.
type at struct {
	net.Listener
	port int
}

func (a at) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: a.port} }

// learner is a client of a cluster. Each time it asks for the slots, the answer is that one node
// has all of them.
type learner struct {
	*client
	at    atomic.Value // address of the node that has all slots
	looks []time.Time
}

func newLearner(t *testing.T, at string) *learner {
	l := &learner{client: new(client)}
	l.at.Store(at)
	o := testbed.ClusterOptions([]string{at}, time.Second)
	o.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) {
		l.looks = append(l.looks, time.Now())
		return []redis.ClusterSlot{{End: hashSlots - 1, Nodes: []redis.ClusterNode{{Addr: l.at.Load().(string)}}}}, nil
	}
	l.cluster = redis.NewClusterClient(o)
	if _, err := l.cluster.MasterForKey(t.Context(), shardKeys[0]); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAPromotionWaitsForAllClientsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{name: "n1"}
		e := &env{}
		e.cluster = &cluster{env: e, peerProxies: map[*node]*peerProxy{n: {door: &door{listener: at{port: 2}}}}}
		slow, quick := newLearner(t, "10.0.0.1:1"), newLearner(t, "10.0.0.1:1")
		e.clients = []*client{slow.client, quick.client}
		quick.at.Store(e.cluster.peerProxies[n].announced())
		began := time.Now()
		clusterEnv{ownEnv{e}, e.cluster}.follow(t.Context(), &shard{key: shardKeys[0]}, n)
		took := time.Since(began)
		master, err := quick.cluster.MasterForKey(t.Context(), shardKeys[0])
		if err != nil {
			t.Fatal(err)
		}
		if master.Options().Addr != e.cluster.peerProxies[n].announced() {
			t.Errorf("after %v the client that hears of it does not know the new master", took)
		}
		synctest.Wait() // a client may be asking once more
		if !quick.looks[1].Before(began.Add(4 * testbed.SlotsKnownFor)) {
			t.Errorf("looked %v after the promotion, want before the other's time is over", quick.looks[1].Sub(began))
		}
		for _, l := range []*learner{slow, quick} {
			if err := l.cluster.Close(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second) // go-redis pauses after each time it asks
	})
}
