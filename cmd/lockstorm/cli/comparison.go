package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// comparison compares a replayed history with the expected one.
type comparison struct {
	// expected is the expected hash or its first digits; "" if unknown.
	expected string
	got      string
	stored   bool // expected comes from a trial's folder, not from the user
	// comparable: both histories come from the same testbed on virtual time, so they should
	// be equal.
	comparable bool
	// differs says how the stored files differ from the judged history; nil if they do not, or
	// if that is unknown.
	differs error
	// renamed: the replayed history equals the stored one except for the names of random tokens.
	// If renamed is false, first is the first difference, or nil if no difference is known.
	renamed bool
	first   *history.Difference
	// foreign: the recipe is not this project's.
	foreign bool
	// campaignSeed is the campaign's seed, from which the trial's seed was derived; 0 if
	// unknown.
	campaignSeed uint64
}

func (x comparison) same() bool {
	return x.renamed || x.expected != "" && strings.HasPrefix(x.got, x.expected)
}

// beside compares the replayed history with the stored one, entry by entry. It does nothing if the
// hashes agree or no hash is expected, if the histories are not comparable, or if the stored files
// differ from the judged history.
func (x *comparison) beside(folder string, replayed history.Evidence) {
	if !x.comparable || x.expected == "" || x.same() || x.differs != nil {
		return
	}
	if stored, err := trial.LoadRecord(folder); err == nil {
		x.first = history.Compare(stored.Evidence, replayed)
		x.renamed = x.first == nil
	}
}

// words says how the two histories compare.
func (x comparison) words() string {
	which := "expected"
	if x.stored {
		which = "stored"
	}
	switch {
	case x.expected == "":
		return "no history to compare with (--hash)"
	case x.same() && x.differs != nil:
		return "same history as the run judged, but the stored files differ: they were cut short, changed or removed"
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
	return "the history differs from the " + which + " one, as it must: histories repeat only on the same testbed with virtual time"
}

// seeds names the trial's own seed and, if known, the campaign's seed, which is the value for
// --seed.
func (x comparison) seeds(s trial.Spec) string {
	if x.campaignSeed == 0 {
		return fmt.Sprintf("trial seed %d", s.Seed)
	}
	return fmt.Sprintf("seed %d (trial seed %d)", x.campaignSeed, s.Seed)
}

// verdict returns the comparison's error or exit code; nil if all is well. If the stored files
// differ from the judged history, it warns on stderr.
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
