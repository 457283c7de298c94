//go:build !race

package campaign

// raceDetector says whether this test was built with it.
const raceDetector = false
