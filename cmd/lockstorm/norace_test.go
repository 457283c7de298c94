//go:build !race

package main

// raceDetector says whether this test was built with it.
const raceDetector = false
