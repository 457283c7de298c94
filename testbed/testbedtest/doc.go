// Package testbedtest tests whether a testbed keeps the promises of package testbed. The
// tests are the same for every testbed, on real and on virtual time.
//
// Run takes a function that opens the testbed. If the testbed lacks the capability or the
// topology that a promise needs, Run leaves the promise out, and the test's log says so.
//
// The words: a promise is a sentence of package testbed, with its test, and the capability and
// the topology that it needs; an environment is a testbed.Env with helpers for tests; an
// environment is calm if a fault explains each of its elections. Some tests are repeated if
// their environment was not calm.
package testbedtest
