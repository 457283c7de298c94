package testbed

import "time"

// fsyncEvery is how often appendfsync everysec makes the append-only file durable.
const fsyncEvery = time.Second

// LastFsync returns the time of the last fsync of a node with the durability EverySec before the
// node is killed. began is when the node started, at is when the node is killed. The node loses all
// writes after the last fsync. All testbeds use LastFsync, so that the same plan loses the same
// writes on each testbed.
//
// Redis promises only about one fsync a second. Before 7.4, Redis syncs at the first write,
// or at the first turn of its event loop, in each second of its clock; since 7.4, one second
// after the last fsync (redis/redis#13041). Each fsync runs in the background and takes as
// long as the disk needs, so that chance decides what a power loss keeps. LastFsync is
// simpler: fsyncs complete at whole seconds since the start, and all later writes are lost.
func LastFsync(began, at time.Duration) time.Duration {
	return at - (at-began)%fsyncEvery
}
