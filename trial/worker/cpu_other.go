//go:build !linux

package worker

import "time"

func cpuTime(int) (time.Duration, bool) { return 0, false }

func runnable(int) bool { return false }
