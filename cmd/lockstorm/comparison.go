package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// comparison is how a replayed history compares with the one that was to come out.
type comparison struct {
	// expected is its hash or the hash's first digits; "" if it is not known.
	expected string
	got      string
	stored   bool // expected is what a folder says; else it was given
	// comparable: on one testbed with virtual time, where histories are alike.
	comparable bool
	// differs is as in stored.
	differs error
	// renamed: it is the stored one but for the names of random tokens. Else first is
	// where the two differ first; nil if nobody knows.
	renamed bool
	first   *history.Difference
	// foreign: the recipe is not this project's.
	foreign bool
	// campaignSeed is the one that the trial's was derived from; 0 if that is
	// not known.
	campaignSeed uint64
}

func (x comparison) same() bool {
	return x.renamed || x.expected != "" && strings.HasPrefix(x.got, x.expected)
}

// beside compares the replayed history with the one in a stored trial's folder, if
// their hashes differ.
func (x *comparison) beside(folder string, replayed history.Evidence) {
	if !x.comparable || x.expected == "" || x.same() || x.differs != nil {
		return
	}
	if stored, err := trial.LoadRecord(folder); err == nil {
		x.first = history.Compare(stored.Evidence, replayed)
		x.renamed = x.first == nil
	}
}

// words say how the two compare.
func (x comparison) words() string {
	which := "expected"
	if x.stored {
		which = "stored"
	}
	switch {
	case x.expected == "":
		return "no history to compare with (--hash)"
	case x.same() && x.differs != nil:
		return "same history as the run judged, but the stored files are not: cut short, changed or gone since"
	case x.renamed:
		return "same history as stored but for the names of random tokens"
	case x.same():
		return "same history as " + which
	case x.comparable:
		text := "DIFFERENT history: " + which + " was " + x.expected
		if x.first != nil {
			text += "; it differs first in " + x.first.String()
		}
		return text
	}
	return "another history than the " + which + " one, by nature: only on one and the same testbed with virtual time are they alike"
}

// seeds names the campaign's, which --seed takes, and the trial's own.
func (x comparison) seeds(s trial.Spec) string {
	if x.campaignSeed == 0 {
		return fmt.Sprintf("trial seed %d", s.Seed)
	}
	return fmt.Sprintf("seed %d (trial seed %d)", x.campaignSeed, s.Seed)
}

// verdict is the error or the exit code that the comparison ends the program
// with. Of files that are not what was judged it tells on stderr.
func (x comparison) verdict(stderr io.Writer, args []string) error {
	if x.differs != nil {
		fmt.Fprintf(stderr, "lockstorm: %s: %v\n", args[0], x.differs)
	}
	switch {
	case x.comparable && x.expected != "" && !x.same() && x.foreign:
		fmt.Fprintln(stderr, "lockstorm: the history differs: the lock is not replayable byte for byte (docs/determinism.md)")
		return exit(campaign.ExitUnknown)
	case x.comparable && x.expected != "" && !x.same():
		return fmt.Errorf("the history differs: expected hash %s, got %s", x.expected, x.got)
	case x.differs != nil:
		return exit(campaign.ExitUnknown)
	}
	return nil
}
