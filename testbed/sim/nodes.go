package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// server finds a node by name. The simulation's lock is held.
func (w *simulation) server(name string) (*server, error) {
	for _, s := range w.servers {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no node %q: there are n0 to n%d", name, len(w.servers)-1)
}

// running returns the node with this name, or an error if there is none or it is down.
func (w *simulation) running(name string) (*server, error) {
	s, err := w.server(name)
	if err == nil && s.down {
		err = fmt.Errorf("node %s is down", name)
	}
	return s, err
}

// Pause implements testbed.Nodes. Hits counts the commands that arrived during the pause.
func (w *simulation) Pause(_ context.Context, node string) (testbed.Undo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.running(node)
	if err != nil {
		return nil, fmt.Errorf("pause: %w", err)
	}
	f := &freeze{}
	s.pauses = append(s.pauses, f)
	return w.once(func() int {
		s.thaw(f)
		return f.hits
	}), nil
}

// Kill implements testbed.Nodes.
func (w *simulation) Kill(_ context.Context, node string, down func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.running(node)
	if err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	if err := testbed.CallIfAny(down); err != nil {
		return err
	}
	s.kill()
	return nil
}

// Restart implements testbed.Nodes. A replica or a replaced primary comes back as a replica
// of the current primary and loads the primary's data.
func (w *simulation) Restart(ctx context.Context, node string) (lost history.Lost, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.server(node)
	if err != nil {
		return lost, err
	}
	takes := s.startUp()
	w.mu.Unlock()
	err = testbed.Sleep(ctx, takes)
	w.mu.Lock()
	if err != nil {
		return lost, fmt.Errorf("restart node %s: %w", node, err)
	}
	if !s.down {
		return lost, fmt.Errorf("restart: node %s is not down", node)
	}
	lost = s.start()
	switch {
	case w.primary == nil:
	case s == w.primary: // the replicas load the primary's present data
		for _, st := range s.streams {
			st.send(false)
		}
	default:
		w.replicate(s, w.primary)
	}
	return lost, nil
}

// A process takes between startLeast and startLeast + startSpread to start.
const (
	startLeast  = 5 * time.Millisecond
	startSpread = 45 * time.Millisecond
)

// startUp returns how long the process takes to start. Nobody can connect during the start.
func (s *server) startUp() time.Duration {
	h := mix(s.sim.setup.Seed, uint64(s.index), uint64(s.executed))
	return startLeast + time.Duration(h%uint64(startSpread)).Truncate(tick)
}

// StopReplication implements testbed.Nodes: it holds back the primary's later writes from
// its replicas. Hits is the greatest number of writes that any one replica had to wait for.
func (w *simulation) StopReplication(context.Context) (testbed.Undo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.primary == nil {
		return nil, errors.New("stop replication: no node has replicas")
	}
	var all pipes
	for _, st := range w.primary.streams {
		all = append(all, st.down)
	}
	return w.once(all.block(block{}, func(a, b int) int { return max(a, b) })), nil
}

// Promote implements testbed.Nodes. Data that the replica has not received is lost,
// including writes that StopReplication holds. The other replicas and all clients move to
// the new primary, even if the old primary still runs.
func (w *simulation) Promote(_ context.Context, node string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.promote(node)
	if err != nil {
		return err
	}
	for _, c := range w.clients {
		for _, l := range c.links {
			l.retarget(s)
		}
	}
	return nil
}

// promote makes a replica the primary. Mu is held.
func (w *simulation) promote(node string) (*server, error) {
	s, err := w.running(node)
	if err != nil {
		return nil, fmt.Errorf("promote: %w", err)
	}
	old := w.primary
	if old == nil || old == s {
		return nil, fmt.Errorf("promote: node %s is not a replica", node)
	}
	if s.remedied(remedy.Durable) {
		data := old.disk.durable
		if !old.down {
			data = old.node.Snapshot(old.wall())
		}
		s.node.Load(s.wall(), data)
		s.node.CopyOwners(old.node)
	}
	s.expire() // hides the keys that have expired, so that the witness is not told of them
	s.leave()
	s.expireLater() // a replica schedules no deletions
	s.node.SetReadOnly(false)
	s.written = old.written
	w.primary = s
	for _, r := range w.servers {
		if r != s && r != old && !r.down {
			w.replicate(r, s)
		}
	}
	for _, st := range old.streams {
		st.gone = true
	}
	old.streams = nil
	return s, nil
}

// Split implements testbed.SplitBrain.
func (w *simulation) Split(_ context.Context, node string, clients []int) (testbed.Undo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range clients {
		if id < 0 || id >= len(w.clients) {
			return nil, fmt.Errorf("split brain: no client %d", id)
		}
	}
	old := w.primary
	s, err := w.promote(node)
	if err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	for id, c := range w.clients {
		if !slices.Contains(clients, id) && !s.remedied(remedy.OnePrimary) {
			continue
		}
		for _, l := range c.links {
			l.retarget(s)
		}
	}
	since := old.asked
	return w.once(func() int {
		writes := int(old.asked - since)
		for _, c := range w.clients {
			for _, l := range c.links {
				l.retarget(w.primary)
			}
		}
		if !old.down && old != w.primary {
			w.replicate(old, w.primary)
		}
		return writes
	}), nil
}

// FlushScripts implements testbed.Nodes.
func (w *simulation) FlushScripts(_ context.Context, node string) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.running(node)
	if err != nil {
		return 0, fmt.Errorf("flush scripts: %w", err)
	}
	return s.node.FlushScripts(), nil
}

// Keys implements testbed.Nodes.
func (w *simulation) Keys(_ context.Context, node string) ([]history.KeyState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.running(node)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return s.node.Keys(s.wall()), nil
}

// List implements testbed.Nodes.
func (w *simulation) List() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, s := range w.serving() {
		names = append(names, s.name)
	}
	return names
}

// SkewNode implements testbed.NodeClocks.
func (w *simulation) SkewNode(_ context.Context, node string, offset time.Duration, jumps func() error) (keys int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.server(node)
	if err != nil {
		return 0, err
	}
	if s.skew == offset {
		return 0, nil
	}
	if err := testbed.CallIfAny(jumps); err != nil {
		return 0, err
	}
	if !s.down {
		keys = s.node.Mortal()
	}
	if s.remedied(remedy.Clocks) {
		return keys, nil
	}
	s.skew = offset
	s.node.ClockSet()
	if !s.down && len(s.pauses) == 0 {
		s.expireLater()
	}
	return keys, nil
}

// Evict implements testbed.Memory. As in Redis, replicas delete the evicted keys too.
func (w *simulation) Evict(_ context.Context, node string, evicted func([]history.KeyState) error) ([]history.KeyState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.running(node)
	if err != nil {
		return nil, fmt.Errorf("evict: %w", err)
	}
	if s.remedied(remedy.Durable) {
		return nil, nil
	}
	keys := s.node.Evict(s.wall())
	if len(keys) > 0 {
		s.wrote(true) // the hits of StopReplication and Split count it like a client's write
		if evicted != nil {
			err = evicted(keys)
		}
	}
	return keys, err
}
