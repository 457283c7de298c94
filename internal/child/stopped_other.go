//go:build unix && !linux

package child

// AwaitStopped returns at once, because this system does not show whether a process has stopped.
func AwaitStopped(int) error { return nil }
