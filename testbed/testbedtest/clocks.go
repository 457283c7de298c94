package testbedtest

import (
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

var clocks = []promise{
	{name: "a node's clock that jumps ends lives", test: nodeForward, needs: testbed.CanNodeClocks},
	{name: "a node's clock that jumps back lengthens lives", test: nodeBack, needs: testbed.CanNodeClocks},
}

const (
	life = 10 * time.Second
	jump = time.Minute
)

// skewNode sets a key with an expiry and a key without one, and makes the node's clock jump.
func (w *testEnv) skewNode(by time.Duration) {
	w.mustSet(0, "lasting", "1")
	w.must(w.redis(0, 0).Set(w.ctx, "brief", "1", life).Err())
	w.jump(by, 1)
}

// jump makes the node's clock jump. lives is the number of expiries that must move. The node's
// TIME must show the jump.
func (w *testEnv) jump(to time.Duration, lives int) {
	keys, err := w.NodeClocks().SkewNode(w.ctx, "n0", to, nil)
	w.must(err)
	if keys != lives {
		w.Errorf("lives: got %d, want %d", keys, lives)
	}
	shown, err := w.redis(0, 0).Time(w.ctx).Result()
	w.must(err)
	if got := shown.Sub(w.Client(0).Locks().Now()); (got - to).Abs() > waitTimeout {
		w.Errorf("the node's clock is ahead by %v, want %v", got, to)
	}
}

// lives checks that the key with an expiry "lives" or has "ended", as want says, and that the key
// without an expiry still exists.
func (w *testEnv) lives(want string) {
	w.Helper()
	got, err := w.redis(0, 0).Exists(w.ctx, "brief").Result()
	w.must(err)
	if is := map[int64]string{0: "ended", 1: "lives"}[got]; is != want {
		w.Errorf("the key with a life: got %s, want %s", is, want)
	}
	w.check("n0", "lasting", "1")
}

func nodeForward(s suite) {
	s.run(testbed.Setup{Topology: testbed.Independent, Nodes: 2}, func(w *testEnv) {
		w.must(w.redis(0, 1).Set(w.ctx, "brief", "1", life).Err())
		w.skewNode(jump)
		w.check("n1", "brief", "1") // the other node's clock is right
		w.lives("ended")
		w.jump(jump, 0) // the clock has that offset already
		w.must(w.redis(0, 0).Set(w.ctx, "brief", "1", life).Err())
		w.lives("lives") // the clock's speed has not changed
		time.Sleep(life + time.Second)
		w.lives("ended")
		if _, err := w.NodeClocks().SkewNode(w.ctx, "n9", jump, nil); err == nil {
			w.Error("an unknown node: got no error")
		}
	})
}

func nodeBack(s suite) {
	s.run(single, func(w *testEnv) {
		w.skewNode(-jump)
		time.Sleep(life + time.Second)
		w.lives("lives")
		ttl, err := w.redis(0, 0).PTTL(w.ctx, "brief").Result()
		w.must(err)
		if want := jump - time.Second; ttl > want || ttl < want-waitTimeout {
			w.Errorf("its remaining life: got %v, want %v", ttl, want)
		}
		w.jump(0, 1) // the clock jumps back to the right time
		w.lives("ended")
	})
}

// NodeClocks returns the environment as a testbed.NodeClocks.
func (w *testEnv) NodeClocks() testbed.NodeClocks { return w.Env.(testbed.NodeClocks) }
