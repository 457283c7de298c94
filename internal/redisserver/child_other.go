//go:build unix && !linux

package redisserver

func awaitStopped(int) error { return nil }
