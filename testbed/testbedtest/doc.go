// Package testbedtest tests whether a testbed keeps the promises of package testbed. The
// tests are the same for every testbed, on real and on virtual time.
//
// A function comes in that opens the testbed; failures of the test go out. What a testbed
// lacks is left out, and the test's log says so.
//
// The words: a promise is a sentence of package testbed, with its test, and the capability and
// the topology that it needs; an environment is a testbed.Env with helpers for tests; a calm
// environment is one without elections that no fault provoked: if one happens, the test is run
// again.
package testbedtest
