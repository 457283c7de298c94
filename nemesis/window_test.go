package nemesis

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// asJSON writes a value as JSON, for comparisons and failure messages.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// told is an action and the window that the history should record for it, without the window's
// times.
type told struct {
	act    Action
	nodes  []string // the world's nodes; nil = n0
	window history.Window
}

// linked returns the struck link, from c0 to n0.
func linked(d history.Direction) []history.Link {
	return []history.Link{{From: "c0", To: "n0", Direction: d}}
}

// toldBy has the window that each fault records when it strikes c0. c0 goes through the steps hold,
// read, acquire and touch.
var toldBy = map[string]told{
	"client-crash": {Action{}, nil, history.Window{Effect: history.Crashed, Clients: []int{0}, Hits: 1, Impact: &history.Impact{}}},
	"client-pause": {Action{For: time.Second}, nil, history.Window{
		Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{Messages: 1},
	}},
	"slow-work": {Action{For: time.Second}, nil, history.Window{
		Effect: history.Slowed, Clients: []int{0}, Hits: 1, Impact: &history.Impact{},
	}},
	"hung-work": {Action{For: time.Second}, nil, history.Window{
		Effect: history.Hung, Clients: []int{0}, Hits: 1, Impact: &history.Impact{},
	}},
	"partition": {Action{Nodes: []string{"n0"}, Direction: history.Both, For: time.Second}, nil, history.Window{
		Effect: history.Cut, Links: linked(history.Both), Hits: 1, Impact: &history.Impact{Messages: 1},
	}},
	"partition-requests": {Action{Nodes: []string{"n0"}, Direction: history.Upstream, For: time.Second}, nil, history.Window{
		Effect: history.Cut, Links: linked(history.Upstream), Hits: 1, Impact: &history.Impact{Messages: 1},
	}},
	"partition-replies": {Action{Links: []testbed.Link{{From: "n1", To: "n0"}}, Direction: history.Downstream, For: time.Second}, nil, history.Window{
		Effect: history.Cut, Links: []history.Link{{From: "n1", To: "n0", Direction: history.Downstream}}, Impact: &history.Impact{},
	}},
	"lost-reply": {Action{Nodes: []string{"n0"}, Direction: history.Downstream, For: time.Second}, nil, history.Window{
		Effect: history.ReplyLost, Links: linked(history.Downstream), Hits: 1, Impact: &history.Impact{Messages: 1},
	}},
	"delay": {Action{Nodes: []string{"n0"}, Direction: history.Upstream, For: time.Second}, nil, history.Window{
		Effect: history.Delayed, Links: linked(history.Upstream), Hits: 1, Impact: &history.Impact{Messages: 1},
	}},
	"reset": {Action{Nodes: []string{"n0"}, For: time.Second}, nil, history.Window{
		Effect: history.Reset, Links: linked(""), Hits: 1, Impact: &history.Impact{Connections: 1},
	}},
	"node-pause": {Action{Nodes: []string{"n0"}, For: time.Second}, nil, history.Window{
		Effect: history.Paused, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Commands: 1},
	}},
	"node-restart": {Action{Nodes: []string{"n0"}, For: time.Second}, nil, history.Window{
		Effect: history.Restarted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: fated("n0", history.FateLost)},
	}},
	"failover": {Action{Nodes: []string{"n1"}, Until: &Trigger{Clients: []int{0}, Step: testbed.StepTouch}, Limit: time.Minute}, nil, history.Window{
		Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 1, Impact: &history.Impact{
			Until:    &history.Moment{Client: 0, Step: testbed.StepTouch},
			Keys:     []history.KeyFate{{Node: "n1", Key: "late", Fate: history.FateLost}},
			Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled},
		},
	}},
	"split-brain": {Action{Nodes: []string{"n1"}, Others: []int{0, 1, 2}, For: time.Second}, nil, history.Window{
		Effect: history.Parted, Clients: []int{1, 2}, Nodes: []string{"n1"}, Hits: 1, Impact: &history.Impact{Writes: 1},
	}},
	"client-skew": {Action{Offset: -time.Minute, For: time.Second}, nil, history.Window{
		Effect: history.ClockSet, Clients: []int{0}, Hits: 2, Impact: &history.Impact{Offset: -time.Minute, Attempts: 1, Holding: true},
	}},
	"node-clock": {Action{Nodes: []string{"n0"}, Offset: time.Second, For: time.Second}, nil, history.Window{
		Effect: history.ClockSet, Nodes: []string{"n0"}, Hits: 3, Impact: &history.Impact{Offset: time.Second, Shifted: 1, ShiftedBack: 2},
	}},
	"script-flush": {Action{Nodes: []string{"n0"}}, nil, history.Window{
		Effect: history.Flushed, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Scripts: 1},
	}},
	"eviction": {Action{Nodes: []string{"n0"}}, nil, history.Window{
		Effect: history.Evicted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: fated("n0", history.FateEvicted)},
	}},
	"slot-migration": {Action{Nodes: []string{"n0", "n1"}}, []string{"n0", "n1"}, history.Window{
		Effect: history.SlotMoved, Nodes: []string{"n0", "n1"}, Hits: 1, Impact: &history.Impact{
			Keys: fated("n0", history.FateMoved), Handover: &history.Handover{From: "n0", To: "n1"},
		},
	}},
}

// work goes through the steps of one that holds a lock from 100 ms on.
func (c *fakeClient) work(ctx context.Context) {
	time.Sleep(100 * time.Millisecond)
	for _, step := range []string{testbed.StepHold, testbed.StepRead, testbed.StepAcquire, testbed.StepTouch} {
		if c.Step(ctx, step) != nil {
			return
		}
		if done, err := c.Work(ctx); err != nil {
			return
		} else if done != nil {
			<-done
		}
		if step == testbed.StepRead {
			c.set("n0", "late")
		}
	}
}

// strikeHolder carries out the action when c0 holds a lock. It returns the action's window as
// opened and as closed.
func strikeHolder(t *testing.T, a Action, nodes []string) (opened, closed history.Window) {
	t.Helper()
	a.ID, a.Client, a.By = 1, history.NoClient, time.Second
	a.Point = &Trigger{Clients: []int{0}, Step: testbed.StepHold}
	ops, err := play(t, Plan{a}, nodes, func(ctx context.Context, e *fakeEnv) {
		e.nodes["n0"].keys["k"] = fakeKey{value: "t", expires: time.Hour}
		go e.clients[0].work(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if op.Window != nil && op.Type == history.Invoke {
			opened = *op.Window
		} else if op.Window != nil {
			closed = *op.Window
		}
	}
	return opened, closed
}

func TestAWindowTellsWhomAFaultStruckAndWhatItHit(t *testing.T) {
	for _, f := range disturbances {
		want, ok := toldBy[f.Name]
		if !ok {
			t.Errorf("%s: nothing says what its window tells", f.Name)
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			want.act.Fault = f.Name
			opened, got := strikeHolder(t, want.act, want.nodes)
			if opened.Impact != nil || opened.Hits != 0 || opened.Target() != got.Target() || opened.Effect != got.Effect {
				t.Errorf("opened as %s, closed as %s", asJSON(opened), asJSON(got))
			}
			if at := (history.Moment{Time: 100 * time.Millisecond, Step: testbed.StepHold}); got.Impact.At != at {
				t.Errorf("struck at %+v, want %+v", got.Impact.At, at)
			}
			if p := got.Planned; p == nil || p.For != want.act.For || p.Point == nil || p.Point.Step != testbed.StepHold {
				t.Errorf("planned %s", asJSON(p))
			}
			if lasts := want.act.For > 0; lasts && (got.Impact.From != 100*time.Millisecond || got.Impact.For < want.act.For) {
				t.Errorf("from %v for %v, want for %v", got.Impact.From, got.Impact.For, want.act.For)
			}
			want.window.Fault, want.window.ID = f.Name, 1
			if got, want := asJSON(timeless(got)), asJSON(want.window); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// timeless returns a window without its plan, without its times, and without the place of the strike.
func timeless(w history.Window) history.Window {
	w.Planned = nil
	i := *w.Impact
	i.At, i.From, i.For = history.Moment{}, 0, 0
	if i.Until != nil {
		i.Until = &history.Moment{Client: i.Until.Client, Step: i.Until.Step}
	}
	if h := i.Handover; h != nil {
		i.Handover = &history.Handover{From: h.From, To: h.To, How: h.How}
	}
	w.Impact = &i
	return w
}

func TestAPlaceNamesTheCommand(t *testing.T) {
	at := testbed.Hit{
		Point:   testbed.Point{Client: 1, Step: testbed.StepRelease, N: 2, When: testbed.Sent},
		Time:    time.Second,
		Command: history.Command{Node: "n3", Args: []history.Bytes{"evalsha", "abc", "1", "lock", "t"}},
	}
	want := history.Moment{Time: time.Second, Client: 1, Step: testbed.StepRelease, Node: "n3", N: 2, When: history.Sent, Command: "EVALSHA", Key: "lock"}
	if got := momentOf(at); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAFaultWhoseTriggerDoesNotComeHasNoImpact(t *testing.T) {
	_, closed := strikeHolder(t, Action{Fault: "partition", Arm: &Trigger{Clients: []int{2}, Step: testbed.StepRest}, Nodes: []string{"n0"}}, nil)
	if closed.Impact != nil || closed.Hits != 0 {
		t.Errorf("got %s, want no impact", asJSON(closed))
	}
}
