//go:build unix && !linux

package container

func processHost() string { return hostname() }

// startOf returns "": the start is unknown. So a new process with a dead owner's id is taken for
// the owner.
func startOf(int) string { return "" }
