//go:build unix && !linux

package container

func processHost() string { return hostname() }

// startOf returns "", unknown: a new process with the id of a dead owner is taken for the
// owner.
func startOf(int) string { return "" }
