// Package testbedtest tests whether a testbed keeps the promises of package testbed. The
// tests are the same for every testbed, on real and on virtual time.
//
// A function comes in that opens the testbed; failures of the test go out. What a testbed
// lacks is left out, and the test's log says so.
//
// The words: a promise is a sentence of package testbed, with its test, and the capability and
// the topology that it needs; a world is a running one with helpers for tests; a calm world is
// one in which no election happens that no fault provoked, and is run again otherwise.
package testbedtest
