// Package reporttest has what the tests of stories, timelines and reports share:
// hand-made trials, one for each cause of a violation, the Tape on which they are made,
// and the comparison with golden files in testdata.
package reporttest
