//go:build unix && !linux

package child

// AwaitStopped returns at once: on this system the stop cannot be observed.
func AwaitStopped(int) error { return nil }
