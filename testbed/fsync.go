package testbed

import "time"

// fsyncEvery is how often appendfsync everysec makes the append-only file durable.
const fsyncEvery = time.Second

// LastFsync is when a node that began at one instant has last synced its
// append-only file under EverySec, as of another: a kill loses what was written
// after. Every testbed goes by it, so that one plan loses the same on each.
//
// Redis promises no more than about once a second. Until 7.0 it syncs with the
// first write, or turn of its event loop, of each second of its clock; since then a
// second after the last time; each time in the background, where it takes as long
// as the disk needs. What of this a power loss meets is chance. Here it is whole
// seconds since the beginning, and what had begun to be synced just after is lost.
func LastFsync(began, at time.Duration) time.Duration {
	return at - (at-began)%fsyncEvery
}
