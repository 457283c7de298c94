package linear

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// action is an operation on a lock in the models: an acquire or a release by an owner. It has no
// output, since it always succeeds: failed operations never reach a model.
type action struct {
	release bool
	owner   int
	mode    history.Mode // for a read-write lock
	fence   int64        // for an acquire of a fenced lock
	// passing: the model releases the lock right after the acquire, since it is unknown
	// how long the grant lasted.
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

// state constrains the states of models. States are values that compare with ==; a step
// returns a new state.
type state interface {
	comparable
	fmt.Stringer
	// step returns the state after a, and reports whether a is legal.
	step(a action) (next any, legal bool)
	// words returns the contents of the state for hashing: equal states have equal words.
	words() []uint64
}

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

// Model is a kind of lock, as a sequential specification for judging histories. Use Models,
// ModelNamed or ModelOf to get one.
type Model struct {
	Name string // "reentrant-mutex"
	Doc  string // which orders the model allows, in one sentence
	// Claims are those of a recipe that promises this kind of lock and nothing more.
	Claims history.Claims

	build func(permits int) porcupine.Model
	// rules returns the rules by which Check judges recorded operations on a lock with this number
	// of permits.
	rules func(permits int) *rules
	// counts: the model lets one owner acquire several times.
	counts bool
	// shared: the model may let several owners hold the lock together.
	shared bool
}

// These models need no number of permits.
var (
	mutexModel           = model(mutex(false))
	ownedModel           = model(owned{})
	reentrantModel       = model(reentrant{})
	fencedModel          = model(fenced{})
	reentrantFencedModel = model(reentrantFenced{})
	readWriteModel       = model(readWrite{})
)

func always(m porcupine.Model) func(int) porcupine.Model {
	return func(int) porcupine.Model { return m }
}

func semaphoreModel(permits int) porcupine.Model { return model(semaphore{permits: permits}) }

// Models lists the kinds of locks on which histories can be judged. If two models have the
// same claims, ModelOf returns the later one.
func Models() []Model {
	return []Model{
		{"mutex", "one owner at a time; it knows only held and free",
			history.Claims{Quorum: 1}, always(mutexModel), mutexRules, false, false},
		{"owner-aware-mutex", "one owner at a time, who alone can release",
			history.Claims{Quorum: 1}, always(ownedModel), ownedRules, false, false},
		{"reentrant-mutex", "one owner at a time, who may acquire again and must release as often",
			history.Claims{Quorum: 1, Reentrant: true}, always(reentrantModel), reentrantRules, true, false},
		{"fenced-mutex", "one owner at a time, and every grant's fence is greater than all before",
			history.Claims{Quorum: 1, Fenced: true}, always(fencedModel), fencedRules, false, false},
		{"reentrant-fenced-mutex", "one owner at a time, who may acquire again under the fence that it has or a greater one",
			history.Claims{Quorum: 1, Reentrant: true, Fenced: true}, always(reentrantFencedModel), reentrantFencedRules, true, false},
		{"read-write", "readers together, a writer alone",
			history.Claims{Quorum: 1, ReadWrite: true}, always(readWriteModel), readWriteRules, true, true},
		{"semaphore", "at most N owners at a time: semaphore:N; without N, one. Judged by both readings: for exclusion an owner takes one permit, for linearizable every acquire takes one",
			history.Claims{Quorum: 1, Permits: 1}, semaphoreModel, permitRules, true, true},
	}
}

// ModelNamed returns the model with that name: one of Models, or "semaphore:N" with N ≥ 1.
func ModelNamed(name string) (Model, bool) {
	base, count, counted := strings.Cut(name, ":")
	for _, m := range Models() {
		if m.Name != base {
			continue
		}
		if counted {
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 || m.Claims.Permits == 0 {
				return Model{}, false
			}
			m.Name, m.Claims.Permits = name, n
		}
		return m, true
	}
	return Model{}, false
}

// kind is the part of a recipe's claims that determines its model.
type kind struct{ reentrant, readWrite, fenced, permits bool }

// kindOf drops claims that make no difference: read-write locks and semaphores let their
// owner in again anyway, and a read-write lock counts no permits.
func kindOf(c history.Claims) kind {
	switch {
	case c.ReadWrite:
		return kind{readWrite: true}
	case c.Permits > 0:
		return kind{permits: true}
	}
	return kind{reentrant: c.Reentrant, fenced: c.Fenced}
}

// ModelOf returns the model for a recipe with these claims.
func ModelOf(c history.Claims) Model {
	var last Model
	for _, m := range Models() {
		if kindOf(m.Claims) == kindOf(c) {
			last = m
		}
	}
	return last
}

// unfenced returns the claims without Fenced, for judging holds only: a separate oracle
// judges fences.
func unfenced(c history.Claims) history.Claims {
	c.Fenced = false
	return c
}
