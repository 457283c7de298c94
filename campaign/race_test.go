//go:build race

package campaign

// raceDetector reports whether this test binary was built with -race.
const raceDetector = true
