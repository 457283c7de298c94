package testbedtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

var sentinels = []promise{
	{name: "Sentinels leave a healthy primary alone", test: quietSentinels, where: testbed.Sentinel},
	{name: "Sentinels replace a killed primary, which comes back as a replica", test: killedPrimary, where: testbed.Sentinel},
	{name: "Sentinels replace a frozen primary, which comes back as a replica", test: frozenPrimary, where: testbed.Sentinel, own: true},
	{name: "a primary that Sentinels lost serves whom it reaches", test: lostPrimary, where: testbed.Sentinel},
	{name: "clients hear late of an election", test: lateNews, where: testbed.Sentinel},
	{name: "elections that cannot be are errors", test: wrongElections, where: testbed.Sentinel},
}

var watched = testbed.Setup{Topology: testbed.Sentinel, CommandTimeout: 5 * time.Second}

// election collects the events that an environment records about elections.
type election struct {
	mu  sync.Mutex
	ops []history.Op
}

func (w *testEnv) election() *election {
	e := &election{}
	w.hear(e)
	return e
}

// hear makes the environment record its elections in e.
func (w *testEnv) hear(e *election) {
	w.Env.(testbed.Elections).OnElection(func(op history.Op) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.ops = append(e.ops, op)
	})
}

// unasked reports whether there was an election that no fault explains.
func (e *election) unasked() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.ops, func(op history.Op) bool { return op.F == history.FElection })
}

// told returns the recorded events as text: "split c1 n1", "promote n1".
func (e *election) told() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var words []string
	for _, op := range e.ops {
		text := op.F
		if op.Client != history.NoClient {
			text += fmt.Sprintf(" c%d", op.Client)
		}
		words = append(words, strings.TrimSpace(text+" "+op.Node))
	}
	return words
}

// setUntilOn repeats a SET of the key until it succeeds and the key is on that node.
func (w *testEnv) setUntilOn(client int, node, key string) {
	w.Helper()
	var err error
	for end := w.Now() + waitTimeout; w.Now() < end; time.Sleep(10 * time.Millisecond) {
		if err = w.set(client, key, "1"); err == nil && w.onNode(node, key) == "1" {
			return
		}
	}
	w.must(fmt.Errorf("c%d sets %s on %s: got %v to the end", client, key, node, err))
}

func quietSentinels(s suite) {
	commands := s.run(watched, func(w *testEnv) {
		elected := w.election()
		for range 50 {
			w.mustSet(0, "k", "1")
			time.Sleep(100 * time.Millisecond)
		}
		told := elected.told()
		switch {
		case len(told) == 0:
		case elected.unasked():
			w.Logf("the machine is too slow to tell: %v", told)
		default:
			w.Errorf("got %v, want nothing", told)
		}
	})
	for _, c := range commands {
		name := resp.Name(c.Args)
		if c.N > 0 && name != "SET" || !slices.Contains([]string{"n0", "n1", "n2"}, c.Node) {
			s.Errorf("got %+v, want what the client sent to nodes and nothing else", c)
		}
	}
}

func killedPrimary(s suite) {
	s.calm(watched, func(w *testEnv, elected *election) {
		w.mustSet(0, "early", "1")
		w.inSync(testbed.Replicas)
		w.electedFirst()
		w.setUntilOn(0, "n1", "after")
		w.setUntilOn(1, "n1", "too")
		w.sees(1, "early", "1")
		w.sees(1, "late", "")
		_, err := w.Restart(w.ctx, "n0")
		w.must(err)
		w.inSync(testbed.Replicas)
		w.check("n0", "after", "1")
		w.check("n0", "late", "")
		if got := elected.told(); !slices.Equal(got, []string{"promote n1"}) {
			w.Errorf("got %v, want that n1 was promoted", got)
		}
	})
}

// electedFirst does what promote does with a kill, but calls Promote only after the Sentinels have elected n1, as
// happens where killing a server takes long. A second Promote is an error.
func (w *testEnv) electedFirst() {
	w.Helper()
	stopped := w.stopReplication()
	w.mustSet(0, "late", "1")
	time.Sleep(hasty) // until the write to the replicas is held
	w.must(w.Kill(w.ctx, "n0", nil))
	for end := w.Now() + waitTimeout; !slices.Equal(w.List(), []string{"n1"}) && w.Now() < end; {
		time.Sleep(10 * time.Millisecond)
	}
	w.must(w.Promote(w.ctx, "n1"))
	if err := w.Promote(w.ctx, "n1"); err == nil {
		w.Error("Promote of the primary: got no error")
	}
	time.Sleep(hasty) // until clients have moved
	stopped.liftAfter(1)
}

func frozenPrimary(s suite) {
	s.calm(watched, func(w *testEnv, elected *election) {
		stopped := w.stopReplication()
		w.mustSet(0, "late", "1")
		pause := w.pause("n0")
		w.must(w.Promote(w.ctx, "n1"))
		w.setUntilOn(0, "n1", "after")
		w.setUntilOn(1, "n1", "too")
		pause.lift()
		stopped.lift()
		w.inSync(testbed.Replicas)
		w.check("n0", "late", "")
		w.check("n0", "after", "1")
		got := elected.told()
		slices.Sort(got[:min(2, len(got))])
		if want := []string{"split c0 n1", "split c1 n1", "promote n1"}; !slices.Equal(got, want) {
			w.Errorf("got %v, want %v", got, want)
		}
	})
}

func lostPrimary(s suite) {
	commands := s.calm(watched, func(w *testEnv, elected *election) {
		w.mustSet(0, "early", "1")
		w.inSync(testbed.Replicas)
		split := w.split("n1", 1)
		w.setUntilOn(1, "n1", "new")
		w.mustSet(0, "old", "1")
		w.sees(0, "new", "")
		w.sees(1, "old", "")
		w.sees(1, "early", "1")
		if hits := split.lift(); hits == 0 {
			w.Error("undo: got no hits, want the write to the old primary")
		}
		w.setUntilOn(0, "n1", "after")
		w.inSync(testbed.Replicas)
		w.check("n0", "old", "")
		w.check("n0", "new", "1")
		if got, want := elected.told(), []string{"split c1 n1", "promote n1"}; !slices.Equal(got, want) {
			w.Errorf("got %v, want %v", got, want)
		}
	})
	for _, c := range named(commands, "SET") {
		if c.Args[1] == "old" && (c.Node != "n0" || !c.Ran()) {
			s.Errorf("got %+v, want it run on n0", c)
		}
	}
}

func lateNews(s suite) {
	s.run(watched, func(w *testEnv) {
		var news, cuts []fault
		for _, from := range []string{"s0", "s1", "s2", "n1", "n2"} {
			cuts = append(cuts, w.cut(testbed.Link{From: from, To: "n0"}, testbed.Both))
			if from[0] == 's' {
				news = append(news, w.hold(testbed.Link{From: "c0", To: from}, testbed.Both))
			}
		}
		w.must(w.Promote(w.ctx, "n1"))
		w.mustSet(0, "late", "1") // c0 does not know the new primary
		w.check("n0", "late", "1")
		w.setUntilOn(1, "n1", "new")
		for _, f := range slices.Concat(news, cuts) {
			f.lift()
		}
		w.setUntilOn(0, "n1", "after")
		w.inSync(testbed.Replicas)
		w.check("n0", "late", "")
	})
}

func wrongElections(s suite) {
	s.run(watched, func(w *testEnv) {
		for name, err := range map[string]error{
			"of an unknown node":     w.Promote(w.ctx, "n9"),
			"of the primary":         w.Promote(w.ctx, "n0"),
			"a split of nobody":      w.split("n1", 7).err,
			"a split by the primary": w.split("n0", 1).err,
			"a cut of two clients":   w.cut(testbed.Link{From: "c0", To: "c1"}, testbed.Both).err,
			"a cut of a stranger":    w.cut(testbed.Link{From: "s9", To: "n0"}, testbed.Both).err,
		} {
			if err == nil {
				w.Errorf("%s: got no error", name)
			}
		}
		w.mustSet(0, "k", "1")
		w.inSync(testbed.Replicas)
	})
}
