package sim

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// disk is what a node's append-only file would keep over a kill: a prefix of
// what it executed.
type disk struct {
	durability testbed.Durability
	durable    node.Snapshot // as of the last fsync
	pending    []write       // since then, in order
	began      time.Duration // when fsyncs began to be counted
	lost       history.Lost  // told at the next start
}

// write is the data after a command that changed it.
type write struct {
	at    time.Duration
	after node.Snapshot
	asked bool // by a client
}

// wrote notes that the data have changed.
func (d *disk) wrote(s *server, asked bool) {
	switch d.durability {
	case testbed.EverySec:
		d.sync(now())
		d.pending = append(d.pending, write{at: now(), after: s.node.Snapshot(s.wall()), asked: asked})
	case testbed.Always:
		d.durable = s.node.Snapshot(s.wall())
	}
}

// sync makes durable what was written before the last fsync.
func (d *disk) sync(at time.Duration) {
	last := testbed.LastFsync(d.began, at)
	for len(d.pending) > 0 && d.pending[0].at <= last {
		d.durable = d.pending[0].after
		d.pending = d.pending[1:]
	}
}

// die is the process's end.
func (d *disk) die(s *server) {
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

// load gives a new process what the disk kept.
func (d *disk) load(s *server) (lost history.Lost) {
	d.began = now()
	s.node.Reload(s.wall(), d.durable, s.serves())
	return d.lost
}
