// Package reporttest is shared by the tests of stories, timelines and reports. It has
// hand-made trials, one for each cause of a violation, the Tape that records them, and the
// comparison with golden files in testdata.
package reporttest
