//go:build unix && !linux

package container

func processHost() string { return hostname() }

// startOf is unknown here: a new process with the id of one that has ended is taken for
// it.
func startOf(int) string { return "" }
