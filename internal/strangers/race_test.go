//go:build race

package strangers

// stride: of the named schedules that no row names, every one in so many is run.
// Under the race detector trials take several times as long.
const stride = 25
