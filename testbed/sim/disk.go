package sim

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// disk is a node's append-only file. After a kill, a prefix of the file's writes is left.
type disk struct {
	durability testbed.Durability
	durable    node.Snapshot // the data as of the last fsync
	pending    []write       // writes since the last fsync, in order
	began      time.Duration // when the process started; fsyncs happen at whole seconds since then
	lost       history.Lost  // what the last kill lost; the next start reports it
}

// write is one change of the node's data, with the data after the change.
type write struct {
	at    time.Duration
	after node.Snapshot
	asked bool // a kill that loses the change counts it in Lost.Writes
}

// wrote notes a change of the data. Asked is true if a client, an eviction or the primary caused the
// change, and false for an expiry.
func (d *disk) wrote(s *server, asked bool) {
	switch d.durability {
	case testbed.EverySec:
		d.sync(now())
		d.pending = append(d.pending, write{at: now(), after: s.node.Snapshot(s.wall()), asked: asked})
	case testbed.Always:
		d.durable = s.node.Snapshot(s.wall())
	}
}

// sync makes pending writes durable: those up to the last fsync before the time at.
func (d *disk) sync(at time.Duration) {
	last := testbed.LastFsync(d.began, at)
	for len(d.pending) > 0 && d.pending[0].at <= last {
		d.durable = d.pending[0].after
		d.pending = d.pending[1:]
	}
}

// keepAll makes the disk have all data, if a remedy does so.
func (s *server) keepAll() {
	if s.remedied(remedy.Durable) {
		s.disk.pending, s.disk.durability, s.disk.durable = nil, testbed.Always, s.node.Snapshot(s.wall())
	}
}

// remedied reports whether a remedy is in force that acts now, and notes that it does.
func (s *server) remedied(name string) bool {
	r := s.sim.setup.Remedies
	if r.On(name) {
		r.Act()
		return true
	}
	return false
}

// die records in d.lost the data that the kill of the process loses.
func (d *disk) die() {
	d.lost = history.Lost{Durability: d.durability, Scripts: true}
	switch d.durability {
	case testbed.EverySec:
		d.sync(now())
		for _, w := range d.pending {
			if w.asked {
				d.lost.Writes++
			}
		}
		d.pending = nil
	case testbed.Always:
	default:
		d.durable, d.lost.Keys = node.Snapshot{}, true
	}
}

// load loads the durable data into a restarted process and returns what the kill lost.
func (d *disk) load(s *server) (lost history.Lost) {
	d.began = now()
	s.node.Reload(s.wall(), d.durable, s.serves())
	return d.lost
}
