//go:build race

package strangers

// stride: of the named schedules that no row names, every one in so many is run.
// Under the race detector trials take several times as long.
const stride = 25

// part: one lock in so many is tried; scripts/test tries all without the race detector.
const part = 5
