package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/story"
)

// waits returns the times during which a client kept asking for the lock: from the first refused
// attempt to the end of the last attempt.
func waits(client int, f titles) (out []bar) {
	waiting := false
	for _, p := range f.Pairs {
		if p.Invoke.Client != client || p.Invoke.Process == history.Nemesis || f.Finding.Lock != "" && p.Invoke.Lock != f.Finding.Lock {
			continue
		}
		if p.Invoke.F != history.FAcquire || p.Complete == nil {
			waiting = false
			continue
		}
		refused := p.Done() == history.Fail
		if refused && !waiting {
			out = append(out, bar{From: p.Invoke.Time, Look: barWait, Client: client, Label: "waits for the lock", Title: f.operation(p)})
		}
		if waiting || refused {
			out[len(out)-1].To = p.Complete.Time
		}
		if waiting = refused; refused {
			last := &out[len(out)-1]
			last.Refused = append(last.Refused, span{From: p.Invoke.Time, To: p.Complete.Time})
		}
	}
	for i, b := range out {
		if n := len(b.Refused); n > 1 {
			out[i].Title = line(history.ClientName(client), fmt.Sprintf("%s, refused %d times", b.Label, n), b.From, b.To, false) + "\n" + b.Title
		}
	}
	return out
}

// keyGone returns when, during a believed hold, fewer nodes than the claimed quorum still had the
// holder's keys: keys expired, were deleted or overwritten, or nodes lost them. It returns false if
// that did not happen, or if the evidence shows the hold's keys on fewer nodes than the quorum.
func keyGone(h checker.Hold, f story.Focus) (time.Duration, bool) {
	lives := livesOf(h, f)
	need := f.Claims.NodeQuorum()
	var ends []time.Duration
	for _, end := range lives {
		ends = append(ends, end)
	}
	if len(ends) < need {
		return 0, false
	}
	slices.SortFunc(ends, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	gone := max(h.From, ends[need-1])
	return gone, gone < h.To && gone < f.End
}

// livesOf returns, for each node, until when the node had the keys of a believed hold. Keys that never
// expire are left out if another key of the hold expires: a counter of fencing tokens outlives the
// lock's key.
func livesOf(h checker.Hold, f story.Focus) map[string]time.Duration {
	granted := grantedBy(h, f)
	var grants []*keyspace.Grant
	mortal := func(g *keyspace.Grant) bool { return g.TermAt(g.At.Hi).Mortal }
	for _, g := range f.Keyspace.Grants {
		mine := g.Client == h.Client && !g.Refused && (slices.Contains(granted, g.Op) || g.At.Hi > h.From && g.At.Hi < h.To && g.Lock == h.Lock)
		if mine {
			grants = append(grants, g)
		}
	}
	if slices.ContainsFunc(grants, mortal) {
		grants = slices.DeleteFunc(grants, func(g *keyspace.Grant) bool { return !mortal(g) })
	}
	lives := map[string]time.Duration{}
	for _, g := range grants {
		end := min(lifeOf(g), lossOf(g, f))
		if g.Copied && end <= g.Came {
			continue // the copied key expired before it arrived
		}
		lives[g.Node] = max(lives[g.Node], end)
	}
	return lives
}

// lossOf returns when the grant's node lost the key; checker.Never if it did not. If the node went
// down, the spans have that time; the key changes show the loss only when the node is back.
func lossOf(g *keyspace.Grant, f story.Focus) time.Duration {
	for _, s := range f.Spans {
		if s.Node == g.Node && s.Key == g.Key && s.Owner == g.Client && s.End == facts.Lost && s.To >= g.At.Hi {
			return s.To
		}
	}
	return checker.Never
}

// lifeOf returns until when a key carried a grant. A later grant of the same client continues the
// grant. A later grant of any reader continues a reader's grant, because readers share a key.
func lifeOf(g *keyspace.Grant) time.Duration {
	for g.Over != nil && (g.Over.Client == g.Client || g.Mode == history.Read && g.Over.Mode == history.Read) {
		g = g.Over
	}
	end := checker.Never
	if g.End != nil {
		end = g.End.At.Hi
	}
	if g.Over != nil {
		end = min(end, g.Over.At.Hi)
	}
	return end
}

// grantedBy returns the indices of the invocations whose commands granted a hold.
func grantedBy(h checker.Hold, f story.Focus) []int {
	var out []int
	all := append([]int{h.Acquire}, h.Nested...)
	if h.Extended > 0 {
		all = append(all, h.Extended)
	}
	for _, i := range all {
		if p, ok := f.Pair(i); ok {
			out = append(out, p.Invoke.Index)
		}
	}
	return out
}

// heldBy returns the operation that began a hold: an extension, or else an acquire.
func heldBy(h checker.Hold, f story.Focus) (history.Pair, bool) {
	if h.Extended > 0 {
		return f.Pair(h.Extended)
	}
	return f.Pair(h.Acquire)
}
