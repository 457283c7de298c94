package reporttest

import (
	"embed"
	"encoding/json"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
)

//go:embed testdata
var samples embed.FS

// made are the hand-made trials, and what they show.
var made = []struct{ name, shows string }{
	{"race", "two clients pass EXISTS before either has SET"},
	{"foreign-renewal", "a watchdog without an owner check prolongs another client's key"},
	{"lease-outlived", "a holder of set-nx-px is paused beyond its lease"},
	{"server-lost-key", "a failover loses an acknowledged grant"},
	{"client-clock", "a client whose clock is ahead takes over a held lock"},
	{"orphaned-key", "a crashed holder's key keeps others out until it expires"},
	{"read-write", "the first reader that leaves lets a writer in while the second reader still holds"},
	{"quorum", "a naive RedLock on five nodes: its keys expire while the holder still works"},
	{"unclassified", "a violation without an explanation, which no recipe declares"},
	{"evicted", "memory pressure evicts a held key"},
	{"node-clock", "a node's clock jumps forward by more than a lease, then back"},
	{"split-brain", "two primaries grant the lock, each to its own clients"},
	{"deadlock", "a client without a timeout waits for a reply that was dropped"},
	{"fence-regressed", "a restart resets the counter of the fencing tokens"},
	{"panic", "an unexpected reply makes the code under test panic"},
	{"runaway", "the code under test repeats a renewal without a pause"},
	{"starved", "two clients take turns with the lock; the third always asks too late"},
}

// Trials returns the hand-made trials. They show causes that no recorded trial has, and details
// that a cause's recorded trial lacks.
func Trials(tb testing.TB) []Trial {
	var all []Trial
	for _, m := range made {
		all = append(all, Made(tb, m.name))
	}
	return all
}

// Made returns the hand-made trial of the name.
func Made(tb testing.TB, name string) (t Trial) {
	tb.Helper()
	data, err := samples.ReadFile("testdata/" + name + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, &t); err != nil {
		tb.Fatal(err)
	}
	return t
}

// Causes returns the names of all causes that the checker knows.
func Causes() []string {
	var all []string
	for _, c := range checker.Causes() {
		all = append(all, string(c))
	}
	return all
}
