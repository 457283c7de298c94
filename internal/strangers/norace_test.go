//go:build !race

package strangers

// stride: of the named schedules that no row names, every one in so many is run.
const stride = 4

// part: one lock in so many is tried.
const part = 1
