package linear

import (
	"fmt"
	"strconv"
	"strings"

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

// Model is a kind of lock, as a sequential specification for judging histories. Use Models,
// ModelNamed or ModelOf to get one.
type Model struct {
	Name string // "reentrant-mutex"
	Doc  string // which orders the model allows, in one sentence
	// Claims are those of a recipe that promises this kind of lock and nothing more.
	Claims history.Claims

	spec spec
}

// believed returns the specification for believed holds of a lock with this number of permits.
func (m Model) believed(permits int) spec {
	if m.spec.permits > 0 {
		m.spec.permits = permits
	}
	return m.spec
}

// answered returns the specification for recorded replies.
func (m Model) answered() spec {
	s := m.believed(m.Claims.Permits)
	s.answered = true
	return s
}

// Models lists the kinds of locks on which histories can be judged. If two models have the
// same claims, ModelOf returns the later one.
func Models() []Model {
	return []Model{
		{"mutex", "one owner at a time; it knows only held and free",
			history.Claims{Quorum: 1}, spec{anyone: true}},
		{"owner-aware-mutex", "one owner at a time, who alone can release",
			history.Claims{Quorum: 1}, spec{}},
		{"reentrant-mutex", "one owner at a time, who may acquire again and must release as often",
			history.Claims{Quorum: 1, Reentrant: true}, spec{again: true}},
		{"fenced-mutex", "one owner at a time, and every grant's fence is greater than all before",
			history.Claims{Quorum: 1, Fenced: true}, spec{fenced: true}},
		{"reentrant-fenced-mutex", "one owner at a time, who may acquire again under the fence that it has or a greater one",
			history.Claims{Quorum: 1, Reentrant: true, Fenced: true}, spec{again: true, fenced: true}},
		{"read-write", "readers together, a writer alone",
			history.Claims{Quorum: 1, ReadWrite: true}, spec{again: true, modes: true}},
		{"semaphore", "at most N owners at a time: semaphore:N; without N, one. Judged by both readings: for exclusion an owner takes one permit, for linearizable every acquire takes one",
			history.Claims{Quorum: 1, Permits: 1}, spec{again: true, permits: 1}},
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
