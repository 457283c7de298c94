package linear

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Porcupine's side of exclusion.
//
// A span stands for the pair of operations acquire[invocation, ok] and release[end, ∞): the
// lock may have been granted at any time before the client knew, and freed at any time
// after the client stopped believing. The holds exclude each other if and only if this
// history is linearizable on the model of the lock:
//
//   - If no two holds overlap, the following order is legal on the model: each acquire at its
//     ok and each release at its hold's end, releases first where times are equal. Call this
//     order the canonical one.
//   - If two holds overlap, both acquires have returned before either release is called. So
//     in any order both holds are open at once, which no model allows.
//
// So if another order is legal, the canonical one is. Porcupine gets only that one: each operation at its
// place in it. Otherwise porcupine would have to try every subset of the releases, which are concurrent with all
// later operations. A client whose holds overlap holds the lock that often, so that every model lets its owner in
// again.

const (
	// porcupineLimit is the time that porcupine gets for one trial.
	porcupineLimit = 10 * time.Second
	// chunks cuts spans into runs: after softCut spans at the next point where no span is open, and
	// anywhere after hardCut spans. Porcupine's memory grows with the square of a run's length.
	softCut, hardCut = 64, 512
)

// CheckSpans decides, for each lock, whether the spans exclude each other on the model for these
// claims. The spans of a lock must be in order of OK. CheckSpans ignores fences: see CheckFences. ctx
// and a limit of 10 seconds bound the time; locks that remain are Undecided.
func CheckSpans(ctx context.Context, c history.Claims, byLock map[string][]Span) map[string]Answer {
	model := ModelOf(unfenced(c)).believed(c.Permits)
	model.anyone, model.again = false, true
	porcupine := within(ctx, porcupineLimit, model)
	answers := map[string]Answer{}
	for lock, all := range byLock {
		answers[lock] = porcupine.askSpans(all)
	}
	return answers
}

// within returns a search within a time limit, on a lock that is free at first.
func within(ctx context.Context, limit time.Duration, s spec) search {
	return search{ctx: ctx, spec: s, first: []held{{}}, end: endOf(ctx, limit)}
}

func (s search) askSpans(all []Span) Answer {
	for c := range chunks(all) {
		if a := s.askPorcupine(canonical(c, s.spec.fenced)); a != Legal {
			return a
		}
	}
	return Legal
}

// chunks cuts spans, in order of OK, into runs that can be judged one by one. At a quiet
// point no span is open, so the lock is free and the cut is safe. If no quiet point comes
// for long, chunks cuts anyway and carries the open spans over: they count as acquired at
// the instant of the cut. No overlap is lost: both spans of an overlap are open at some
// instant, and the chunk of that instant contains both.
func chunks(all []Span) iter.Seq[[]Span] {
	return func(yield func([]Span) bool) {
		var run []Span
		busy := time.Duration(0) // the time until which some span of the run is open
		fresh := 0               // spans added since the last cut
		for _, s := range all {
			if fresh >= hardCut || fresh >= softCut && busy <= s.OK {
				if !yield(run) {
					return
				}
				run, fresh = carry(run, s.OK), 0
			}
			run = append(run, s)
			fresh++
			busy = max(busy, s.End)
		}
		if len(run) > 0 {
			yield(run)
		}
	}
}

func carry(run []Span, at time.Duration) []Span {
	var open []Span
	for _, s := range run {
		if s.End > at {
			s.Invoke, s.OK = at, at
			open = append(open, s)
		}
	}
	return open
}

// canonical returns the operations of a chunk, one after the other in the canonical order. For a model with
// fences, acquires begin at their invocations: those of one owner may be in the order of their fences instead.
func canonical(chunk []Span, fenced bool) []recording {
	type point struct {
		at, since time.Duration
		action
	}
	points := make([]point, 0, 2*len(chunk))
	for _, s := range chunk {
		points = append(points, point{s.OK, s.Invoke, s.action(false)})
		if s.End != Forever {
			points = append(points, point{s.End, s.End, s.action(true)})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), compareBools(b.release, a.release))
	})
	all := make([]recording, len(points))
	for i, p := range points {
		all[i] = at(i, p.action)
		if fenced {
			all[i].call, _ = slices.BinarySearchFunc(points, p.since, func(q point, t time.Duration) int { return cmp.Compare(q.at, t) })
		}
	}
	return all
}

// at returns an operation that takes effect at an instant.
func at(place int, a action) recording {
	return recording{lot: lot{action: a, due: place}, client: a.owner, call: place}
}
