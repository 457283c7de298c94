package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file gives the order in which a replayed trial is worked out. Each stage has all stages before it,
// and asks no later one:
//
//	trial     what each operation sent, made and heard, and what its client believed
//	ages      how old a grant was at a time, by which clock, and who kept it alive
//	places    what each place of a key is: the lock itself, a record, a queue and so on
//	renewals  which commands only prolong leases, and whose
//	endings   how a grant ended, or why it kept nobody out: the cause of a finding
//	premises  the assumption of leases that broke
//
// The oracles read the last stage. What an oracle works out for itself has a type of its own: trespasses
// (ownership), denials (conduct), orphanage and blockages (liveness). Nothing changes a stage that is complete.
// A method's receiver rp is the replay, as far as its stage knows it.

// premisesOf works out all stages.
func premisesOf(r *evidence.Replay) *premises {
	return &premises{&endings{renewalsOf(placesOf(agesOf(trialOf(r))))}}
}

// premises finds the assumptions that broke: see assumptions.go.
type premises struct{ *endings }

// endings finds the causes of findings: see causes.go.
type endings struct{ *renewals }

// trial is a replayed trial with answers to questions about single operations, commands and grants.
type trial struct {
	*evidence.Replay
	made   [][]*keyspace.Grant // by place of a command: the grants that it made
	latest []time.Duration     // by place in Holds: the greatest To of this and earlier holds
	broke  bool                // the code under test ended the trial
	units  int                 // see countUnits
}

func trialOf(r *evidence.Replay) *trial {
	rp := &trial{Replay: r, made: make([][]*keyspace.Grant, len(r.Commands))}
	for _, g := range rp.Grants {
		if g.Cmd >= 0 && !g.Copied {
			rp.made[g.Cmd] = append(rp.made[g.Cmd], g)
		}
	}
	last := time.Duration(0)
	for _, h := range rp.Holds {
		last = max(last, h.To)
		rp.latest = append(rp.latest, last)
	}
	_, rp.broke = brokeDown(rp.Ops)
	rp.units = rp.countUnits()
	return rp
}

// ages knows what the age of a grant depends on.
type ages struct {
	*trial
	timesAsked map[asker][]int                   // places of the commands that asked a node for the time, in order; empty if no clock of a node was set
	keyWrites  map[keyWriter][]*keyWrite         // the changes of each key by each client, in order
	copies     map[*keyspace.Grant]time.Duration // by copy: see copiedAsOf
}

func agesOf(t *trial) *ages {
	rp := &ages{trial: t, timesAsked: map[asker][]int{}, copies: map[*keyspace.Grant]time.Duration{}}
	for pos, c := range rp.Commands {
		if len(rp.NodeClocks) > 0 && c.Ran() && keyspace.AsksTime(rp.Commands[pos:pos+1]) {
			by := asker{c.Client, c.Op, c.Node}
			rp.timesAsked[by] = append(rp.timesAsked[by], pos)
		}
	}
	rp.keyWrites = rp.findKeyWrites()
	for _, g := range rp.Grants {
		if g.Copied {
			rp.copies[g] = rp.copiedAsOf(g)
		}
	}
	return rp
}
