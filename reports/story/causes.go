package story

import (
	"slices"
)

// Cause is what the name of a cause means.
type Cause struct {
	Name    string
	Meaning string // what happened, in a few words
	// Assumption is what the recipe took for granted and what broke: "the assumption
	// that …".
	Assumption string
}

var causeTexts = []Cause{
	{"race", "two grants by the protocol itself", "nothing happens between the recipe's own commands"},
	{"foreign-delete", "somebody else's key was deleted", "the key that a release deletes is still the caller's own"},
	{"foreign-renewal", "somebody else's lease was prolonged", "the key that a renewal prolongs is still the renewer's own"},
	{"renewal-failed", "the renewal failed and nobody noticed", "renewals keep the lease alive for as long as its holder works"},
	{"lease-outlived", "the lease ended under its holder", "a holder is done before its lease ends"},
	{"server-lost-key", "Redis lost a key that it had acknowledged", "Redis keeps a key that it has acknowledged"},
	{"server-clock", "a node's clock jumped", "the nodes' clocks run at the speed of time"},
	{"client-clock", "clients' clocks disagreed", "the clients' wall clocks agree, and a time that was read is still the time"},
	{"no-expiry", "a key without an expiry was left behind", "whoever takes the lock lives to release it"},
	{"late-command", "a command of an earlier attempt arrived late", "a command that was given up does not arrive any more"},
	{"fence-regressed", "an older fencing token came after a newer one", "fencing tokens only grow"},
	{"orphaned-key", "an orphaned key kept everybody out until it expired", "a key in Redis has a living owner"},
	{"starved", "the lock went round among others, and one who waited never got it", "who asks often enough gets in at some time"},
	{"cross-slot", "a Redis Cluster refused a command whose keys are in different slots", "all keys are on one node"},
	{"deadlock", "the code under test waits for ever", "every reply comes, and every wait has somebody who ends it"},
	{"panic", "the code under test panicked", "errors come back as errors"},
	{"runaway", "the code under test does not come to an end", "what is tried again succeeds at some time"},
	{"unclassified", "a violation that the evidence does not explain", ""},
}

// Causes explains every cause that the checker can name, in the order in which reports
// list them.
func Causes() []Cause { return slices.Clone(causeTexts) }

// Explain returns what a cause means; one that has no text means its name.
func Explain(cause string) Cause {
	for _, c := range causeTexts {
		if c.Name == cause {
			return c
		}
	}
	return Cause{Name: cause, Meaning: cause}
}
