package testbed

import "time"

// fsyncEvery is how often appendfsync everysec makes the append-only file durable.
const fsyncEvery = time.Second

// LastFsync returns when a node that started at began last synced its append-only file
// under EverySec, as of at: a kill loses what was written after. Every testbed goes by
// it, so that one plan loses the same on each.
//
// Redis promises no more than about once a second. Until 7.0 it syncs with the first
// write, or turn of its event loop, of each second of its clock; since then a second
// after the last time; each time in the background, where it takes as long as the disk
// needs. Chance decides what a power loss keeps. Here syncs complete at whole seconds
// since the start, and all later writes are lost.
func LastFsync(began, at time.Duration) time.Duration {
	return at - (at-began)%fsyncEvery
}
