package documents

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/locks"
)

// Kind says whether an item is a listing, a scenario or a claim.
type Kind string

// The kinds of items.
const (
	Listing  Kind = "listing"  // code or commands
	Scenario Kind = "scenario" // what the document says can happen
	Claim    Kind = "claim"    // what the document asserts
)

// Item is one listing, scenario or claim of a document.
type Item struct {
	Kind Kind
	// What says in one sentence what the document shows, tells or claims.
	What string
	// Recipes are the ids of the recipes that the item is about; none if the item is about any
	// lock.
	Recipes []string
	// Shown are the commands that show the answer, at least one.
	Shown []Command
	// Answer is one or more sentences. On the page, the sentences of the Measured commands in Shown
	// follow it. Answer may be "" if there are such commands.
	Answer string
}

// Command is a command that shows an answer.
type Command interface {
	// Line returns the command line, as typed in a shell in the repository's directory.
	Line() string
}

// Flaw is a violated oracle with a cause, such as {"exclusion", "lease-outlived"}.
type Flaw struct{ Oracle, Cause string }

// Replay runs one trial in the simulation and tells what happened.
type Replay struct {
	Lock, Fault, Workload string
	// Schedule is the name of a named schedule, such as "release.n0.1.before-1of2"; "" = the drawn
	// trial 0 of seed 1.
	Schedule string
	// More are further flags, such as "--clients" and "2".
	More []string
	// Shows are flaws that the trial shows, perhaps among others. If Shows is empty, the trial shows
	// no flaw at all.
	Shows []Flaw
}

// Line implements Command.
func (r Replay) Line() string {
	words := []string{"lockstorm", "replay", "--lock", r.Lock, "--fault", r.Fault, "--workload", r.Workload}
	if r.Schedule != "" {
		words = append(words, "--schedule", r.Schedule)
	}
	return strings.Join(append(words, r.More...), " ")
}

// Measured is one figure of an experiment.
type Measured struct {
	Experiment string // Experiment.ID
	// Figure is the name of a sentence in Result.Says.
	Figure string
}

// Line implements Command.
func (m Measured) Line() string { return "lockstorm answer " + m.Experiment }

// Test is a Command that runs a Go test.
type Test struct {
	Package string // the directory, from the repository's root
	Name    string
}

// Line implements Command.
func (t Test) Line() string { return "go test ./" + t.Package + " -v -run '^" + t.Name + "$'" }

// Campaign runs all trials of one recipe under one fault, on a testbed with something that the
// simulation lacks, such as a Redis Cluster. No test compares its findings with the page.
type Campaign struct{ Testbed, Lock, Fault string }

// Line implements Command.
func (c Campaign) Line() string {
	return fmt.Sprintf("lockstorm run --testbed %s --locks %s --faults %s", c.Testbed, c.Lock, c.Fault)
}

// List is a command that prints a registry of the program.
type List struct{ Registry string }

// Line implements Command.
func (l List) Line() string { return "lockstorm list " + l.Registry }

// Document is a source document with its items, in the document's order.
type Document struct {
	ID    string // as in locks.Documents
	Items []Item
}

// All returns the documents in order of their ids.
func All() []Document {
	return []Document{{"D0", d0}, {"D1", d1}, {"D2", d2}, {"D3", d3}, {"D4", d4}}
}

// Title returns the document's title, or its ID if locks.Documents does not list it.
func (d Document) Title() string {
	for _, known := range locks.Documents() {
		if known.ID == d.ID {
			return known.Title
		}
	}
	return d.ID
}

// Number returns the number of item i, counted from 0, as the page shows it: "D1.3".
func (d Document) Number(i int) string { return d.ID + "." + strconv.Itoa(i+1) }
