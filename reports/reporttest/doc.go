// Package reporttest holds what the tests of stories, timelines and reports share. It reads
// recorded trials. It has hand-made trials for the sample campaign of the pages and for cases that
// no recorded trial shows, and the Tape that builds them. It compares output with golden files in
// testdata.
package reporttest
