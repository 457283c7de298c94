package linear

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

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
//     order the canonical one, and the instant of an operation in it the canonical point.
//   - If two holds overlap, both acquires have returned before either release is called. So
//     in any order both holds are open at once, which no model allows.
//
// If an interval shrinks but keeps its operation's canonical point, the canonical order
// stays possible and the answer stays the same. Long intervals would make the search
// explode: a release that stays open to infinity is concurrent with all later operations,
// and porcupine has to try every subset of such releases. So intervals are shortened in
// three ways:
//
//   - a release returns at the next acquire's ok;
//   - no interval begins before its chunk (see chunks);
//   - if more than maxWidth operations are still open at once, each operation shrinks to its
//     canonical point.
//
// Porcupine takes intervals as closed, so that [1,5] and [5,9] are concurrent. But our
// spans may touch without overlapping. Therefore operations use their ranks in the
// canonical order instead of times. Ranks have no ties: an acquire returns at its own rank,
// and a release is called at its own rank.

const (
	// porcupineLimit is the time that porcupine gets for one trial.
	porcupineLimit = 10 * time.Second
	// maxWidth is the greatest number of concurrent operations that porcupine gets: its
	// search is exponential in this number.
	maxWidth = 8
	// chunks cuts spans into runs: after softCut spans at the next point where no span is open, and
	// anywhere after hardCut spans.
	softCut, hardCut = 64, 512
)

// CheckSpans decides, for each lock, whether the spans exclude each other on the model for these
// claims. The spans of a lock must be in order of OK. CheckSpans ignores fences: see CheckFences. ctx
// and a limit of 10 seconds bound the time; locks that remain are Undecided.
func CheckSpans(ctx context.Context, c history.Claims, byLock map[string][]Span) map[string]Answer {
	end := endOf(ctx, porcupineLimit)
	answers := map[string]Answer{}
	for lock, all := range byLock {
		answers[lock] = decideLock(ctx, end, c, all)
	}
	return answers
}

// decideLock tries the plain mutex first. If the plain mutex allows the spans, they do not overlap, so
// every other model of a mutex allows them too.
func decideLock(ctx context.Context, end time.Time, c history.Claims, all []Span) Answer {
	m := ModelOf(unfenced(c))
	merged := Merge(all)
	if !m.spec.shared() && decideOn(ctx, end, spec{anyone: true}.model(), merged) == Legal {
		return Legal
	}
	if m.spec.again {
		merged = all
	}
	return decideOn(ctx, end, m.believed(c.Permits).model(), merged)
}

func decideOn(ctx context.Context, end time.Time, m porcupine.Model, all []Span) Answer {
	for c := range chunks(all) {
		if a := decide(ctx, end, m, operations(c)); a != Legal {
			return a
		}
	}
	return Legal
}

// Merge joins overlapping or adjacent spans of one owner, for the models without spec.again: they do
// not allow an owner to acquire twice.
func Merge(all []Span) []Span {
	merged := make([]Span, 0, len(all))
	last := map[int]int{} // by owner: index of its last merged span
	for _, s := range all {
		i, ok := last[s.Owner]
		if ok && s.OK <= merged[i].End {
			if s.End > merged[i].End {
				merged[i].End, merged[i].Why = s.End, s.Why
			}
			continue
		}
		last[s.Owner] = len(merged)
		merged = append(merged, s)
	}
	return merged
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

// point is an acquire or a release, at its place in the canonical order.
type point struct {
	at      time.Duration
	release bool
	span    int
}

// operations turns a chunk into operations whose times are ranks.
func operations(chunk []Span) []porcupine.Operation {
	ops := spread(chunk)
	if width(ops) > maxWidth {
		for i := range ops {
			ops[i].Call, ops[i].Return = int64(i), int64(i)
		}
	}
	return ops
}

// spread gives every operation its interval in ranks: an acquire from its invocation to its ok, and a
// release from the end of its span to the next acquire's ok. The operations are in canonical order.
func spread(chunk []Span) []porcupine.Operation {
	points := canonical(chunk)
	ops := make([]porcupine.Operation, len(points))
	next := int64(len(points)) // rank of the next acquire
	for i := len(points) - 1; i >= 0; i-- {
		p, rank := points[i], int64(i)
		s := chunk[p.span]
		op := porcupine.Operation{ClientId: s.Owner, Input: s.action(p.release)}
		if p.release {
			op.Call, op.Return = rank, next
		} else {
			first, _ := slices.BinarySearchFunc(points, s.Invoke, func(q point, t time.Duration) int { return cmp.Compare(q.at, t) })
			op.Call, op.Return = int64(first), rank
			next = rank
		}
		ops[i] = op
	}
	return ops
}

func canonical(chunk []Span) []point {
	points := make([]point, 0, 2*len(chunk))
	for i, s := range chunk {
		points = append(points, point{at: s.OK, span: i})
		if s.End != Forever {
			points = append(points, point{at: s.End, release: true, span: i})
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		if a.release != b.release {
			if a.release {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.span, b.span)
	})
	return points
}

// width returns the greatest number of operations that are open at once. The operations'
// times must be ranks.
func width(ops []porcupine.Operation) int {
	last := int64(0)
	for _, op := range ops {
		last = max(last, op.Return)
	}
	change := make([]int, last+2)
	for _, op := range ops {
		change[op.Call]++
		change[op.Return+1]--
	}
	open, most := 0, 0
	for _, c := range change {
		open += c
		most = max(most, open)
	}
	return most
}
