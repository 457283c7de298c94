// Package reporttest is shared by the tests of stories, timelines and reports. It reads
// recorded trials, and has hand-made ones for the sample campaign of the pages and for what
// no recorded trial shows; the Tape that records these; and the comparison with golden files
// in testdata.
package reporttest
