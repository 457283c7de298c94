package checker

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// action is an operation on a lock as the models see it: an acquire or a
// release by an owner. Its output carries nothing: what failed or is unknown
// never reaches a model.
type action struct {
	release bool
	owner   int
	mode    history.Mode // of a read-write lock
	fence   int64        // of an acquire of a fenced lock
	// passing: an acquire that is let go at once, since nobody knows how long it
	// lasted.
	passing bool
}

func (a action) String() string {
	what := "acquires"
	if a.release {
		what = "releases"
	}
	text := fmt.Sprintf("c%d %s", a.owner, what)
	switch a.mode {
	case history.Read, history.Write:
		text += fmt.Sprintf(" (%s)", a.mode)
	}
	if a.fence != 0 && !a.release {
		text += fmt.Sprintf(", fence %d", a.fence)
	}
	return text
}

// state is what all states of models have in common. States are values that
// compare with ==; a step makes a new one.
type state interface {
	comparable
	fmt.Stringer
	// step returns the state after a, and whether a is legal.
	step(a action) (next any, legal bool)
	// words are what tells equal states from others, for hashing.
	words() []uint64
}

// model makes a porcupine model of states that start as init.
func model[S state](init S) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return init },
		Step: func(s, input, _ any) (bool, any) {
			next, legal := s.(S).step(input.(action))
			if !legal {
				return false, s
			}
			return true, next
		},
		Equal: func(a, b any) bool { return a.(S) == b.(S) },
		Hash: func(s any) uint64 {
			h := fnv.New64a()
			var b [8]byte
			for _, w := range s.(S).words() {
				binary.LittleEndian.PutUint64(b[:], w)
				h.Write(b[:])
			}
			return h.Sum64()
		},
		DescribeOperation: func(input, _ any) string { return input.(action).String() },
		DescribeState:     func(s any) string { return s.(S).String() },
		DescribeOperationMetadata: func(info any) string {
			text, _ := info.(string)
			return text
		},
	}
}

// Model is a kind of lock, as the sequential specification that a history is held
// to.
type Model struct {
	Name string // "reentrant-mutex"
	Doc  string // what it allows, in one sentence
	// Claims are those of a recipe that promises this and nothing more.
	Claims history.Claims
}

// blueprint is a row of the table of models.
type blueprint struct {
	Model
	build func(permits int) porcupine.Model
	// rules judge operations as they were recorded: see Linearizable.
	rules func(permits int) *rules
	// counts: it takes several acquires of one owner.
	counts bool
	// shared: it lets several owners in, or may.
	shared bool
}

// The models that need no number of permits.
var (
	mutexModel           = model(mutex(false))
	ownedModel           = model(owned{})
	reentrantModel       = model(reentrant{})
	fencedModel          = model(fenced{})
	reentrantFencedModel = model(reentrantFenced{})
	readWriteModel       = model(readWrite{})
)

// always is that model, whatever the number of permits.
func always(m porcupine.Model) func(int) porcupine.Model {
	return func(int) porcupine.Model { return m }
}

func semaphoreModel(permits int) porcupine.Model { return model(semaphore{permits: permits}) }

// blueprints is the table of models. Of those with the same claims the last has
// the last word.
func blueprints() []blueprint {
	return []blueprint{
		{Model{"mutex", "one owner at a time; it knows only held and free",
			history.Claims{Quorum: 1}}, always(mutexModel), mutexRules, false, false},
		{Model{"owner-aware-mutex", "one owner at a time, who alone can release",
			history.Claims{Quorum: 1}}, always(ownedModel), ownedRules, false, false},
		{Model{"reentrant-mutex", "one owner at a time, who may acquire again and must release as often",
			history.Claims{Quorum: 1, Reentrant: true}}, always(reentrantModel), reentrantRules, true, false},
		{Model{"fenced-mutex", "one owner at a time, and every grant's fence is greater than all before",
			history.Claims{Quorum: 1, Fenced: true}}, always(fencedModel), fencedRules, false, false},
		{Model{"reentrant-fenced-mutex", "one owner at a time, who may acquire again under the fence that it has or a greater one",
			history.Claims{Quorum: 1, Reentrant: true, Fenced: true}}, always(reentrantFencedModel), reentrantFencedRules, true, false},
		{Model{"read-write", "readers together, a writer alone",
			history.Claims{Quorum: 1, ReadWrite: true}}, always(readWriteModel), readWriteRules, true, true},
		{Model{"semaphore", "at most N owners at a time: semaphore:N; without N, one. Judged by both readings: of what was believed an owner takes one permit, of what was answered every acquire takes one",
			history.Claims{Quorum: 1, Permits: 1}}, semaphoreModel, permitRules, true, true},
	}
}

// Models lists the kinds of locks that a history can be held to.
func Models() []Model {
	var all []Model
	for _, b := range blueprints() {
		all = append(all, b.Model)
	}
	return all
}

// ModelByName returns the claims of the model of that name: one of Models, or
// "semaphore:N" with at least one permit.
func ModelByName(name string) (history.Claims, bool) {
	base, count, counted := strings.Cut(name, ":")
	for _, b := range blueprints() {
		if b.Name != base {
			continue
		}
		if counted {
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 || b.Claims.Permits == 0 {
				return history.Claims{}, false
			}
			b.Claims.Permits = n
		}
		return b.Claims, true
	}
	return history.Claims{}, false
}

// kind is what of a recipe's claims decides on its model.
type kind struct{ reentrant, readWrite, fenced, permits bool }

// kindOf leaves out what makes no difference: a read-write lock lets its owner in
// again anyway and counts no permits, and a semaphore lets its owner in again too.
func kindOf(c history.Claims) kind {
	switch {
	case c.ReadWrite:
		return kind{readWrite: true}
	case c.Permits > 0:
		return kind{permits: true}
	}
	return kind{reentrant: c.Reentrant, fenced: c.Fenced}
}

// blueprintFor is the row that has the last word on a recipe with these claims.
func blueprintFor(c history.Claims) blueprint {
	var last blueprint
	for _, b := range blueprints() {
		if kindOf(b.Claims) == kindOf(c) {
			last = b
		}
	}
	return last
}

// unfenced are the claims without what they say of fences: those that holds are
// judged by, for fences are an oracle of their own.
func unfenced(c history.Claims) history.Claims {
	c.Fenced = false
	return c
}
