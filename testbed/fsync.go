package testbed

import "time"

// fsyncEvery is how often appendfsync everysec makes the append-only file durable.
const fsyncEvery = time.Second

// LastFsync returns when a node that started at began last synced its append-only file
// under EverySec, as of at. A kill loses everything written later. All testbeds use
// LastFsync, so that the same plan loses the same writes on each.
//
// Redis promises a sync about once a second, no more. Until 7.0 it syncs with the first
// write, or turn of its event loop, of each second of its clock; since 7.0 one second after
// the last sync. Each sync runs in the background and takes as long as the disk needs, so
// that chance decides what a power loss keeps. Here syncs complete at whole seconds since
// the start, and all later writes are lost.
func LastFsync(began, at time.Duration) time.Duration {
	return at - (at-began)%fsyncEvery
}
