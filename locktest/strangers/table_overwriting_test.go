package strangers

import (
	"maps"

	"github.com/lockstorm/lockstorm/checker"
)

func init() { maps.Copy(table, overwritingTable()) }

// overwritingTable returns the expectations of locks in which other clients overwrite the
// holder's data.
func overwritingTable() map[string]promised {
	everywhere := func(oracle string, cause checker.Cause) []row { return under(columns, finds("", oracle, cause)) }
	return map[string]promised{
		"number-overwritten": {
			// Once another client was refused, a holder's release no longer finds the holder's own
			// number. After a loss of keys, the release may find another client's equal number.
			allowed: all(limits(), wrong(checker.Race, "ownership"), wrong(checker.OrphanedKey, "liveness"), wrong(checker.Starved, "liveness"),
				mistaken(losing, checker.ForeignDelete, "exclusion", "resource", "ownership")),
			rows: rows(everywhere("ownership", checker.Race), everywhere("liveness", checker.OrphanedKey)),
		},
		"worker-number": {
			allowed: all(limits(), wrong(checker.Race, "exclusion", "resource", "ownership"),
				mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
			rows: rows(everywhere("exclusion", checker.Race), everywhere("ownership", checker.Race)),
		},
		"fence-overwritten": {
			// After a loss of keys, fences repeat, so that a release mistakes another
			// client's fence for its own.
			allowed: all(fenced(), wrong(checker.Race, "exclusion", "ownership"), wrong(checker.ForeignDelete, "exclusion", "ownership"),
				mistaken([]string{mix}, checker.FenceRegressed, "fencing")),
			rows: rows(everywhere("exclusion", checker.Race), everywhere("ownership", checker.Race)),
		},
		"constant-overwritten": {
			allowed: all(limits(), wrong(checker.Race, beliefs...), wrong(checker.ForeignRenewal, "ownership")),
			rows:    []row{finds("none", "exclusion", checker.Race), finds("none", "ownership", checker.ForeignRenewal)},
		},
		"owner-overwritten": {
			allowed: all(limits(), wrong(checker.Race, "ownership"), wrong(checker.OrphanedKey, "liveness"),
				mistaken([]string{"node-clock"}, checker.ServerClock, "liveness"),
				mistaken([]string{"client-pause", "node-pause"}, checker.ForeignDelete, beliefs...)),
			rows: rows(everywhere("ownership", checker.Race), everywhere("liveness", checker.OrphanedKey)),
		},
		"count-prolonged": {
			allowed: all(limits(), wrong(checker.ForeignRenewal, "ownership"),
				mistaken(append([]string{mix}, stranding...), checker.ForeignRenewal, "liveness")),
			rows: rows(everywhere("ownership", checker.ForeignRenewal),
				[]row{blocks("client-crash", checker.ForeignRenewal), blocks("lost-reply", checker.ForeignRenewal)}),
		},
		"renamed": plain(),
		"reaped":  plain(),
		// The node forgets a renewal, not the grant.
		"field-renewed": {allowed: all(limits(), renewed(cutting...)), rows: append(requiredLimits(),
			finds("node-restart", "exclusion", checker.ServerLostKey).in("two-locks", "release.n0.1.replied.undone-1of2"))},
		"field-forgotten": {
			ends: true,
			allowed: all(limits(), renewed(cutting...), wrong(checker.Race, "exclusion", "resource", "ownership"),
				mistaken([]string{"client-pause", "node-pause"}, checker.ForeignDelete, "exclusion", "resource", "ownership")),
			rows: rows(everywhere("exclusion", checker.Race), everywhere("ownership", checker.Race)),
		},
	}
}
