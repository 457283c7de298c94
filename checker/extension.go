package checker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
)

// extension decides whether every successful extension came in time. An extension came too late if another
// client was granted the lock since the extending client's latest successful acquire or extension. The
// other client's acquire must have been
//
//   - invoked after the reply to that acquire or extension, and
//   - answered before the late extension was invoked.
//
// If operations overlap, or an acquire of unknown outcome may have renewed the lease, the oracle finds
// nothing.
func extension(ctx context.Context, f *Case) Verdict {
	if f.Claims.Permits > 1 {
		return notApplicable(account.Fact{What: account.SeveralHolders})
	}
	x := extensionsOf(f.Pairs(), f.Claims.ReadWrite)
	if x.ok == 0 {
		return notApplicable(account.Fact{What: account.NothingExtended})
	}
	var findings []Finding
	for e := range untilDone(ctx, x.all) {
		if g := x.between(e); g != nil {
			findings = append(findings, extensionFinding(e, *g))
		}
	}
	return conclude(f, findings, false)
}

// extended is a successful extension by a client that knew that it had the lease.
type extended struct {
	history.Pair
	// since is the earlier reply that told the client that it had the lease.
	since *history.Op
}

type extensions struct {
	modes  bool // the lock is a read-write lock
	ok     int  // number of successful extensions
	all    []extended
	grants map[string][]history.Pair // by lock, in order of their oks
}

// tenure is one client's knowledge of its lease on one lock, in one mode.
type tenure struct {
	since *history.Op // nil without a lease
	token string
	// unsure holds the tokens of acquires of unknown outcome, whose commands may still take the
	// lock at any time; "" = an acquire without a token.
	unsure map[string]bool
}

// certain reports whether a successful extension extended this lease for certain, and not the lease of an
// acquire of unknown outcome.
func (t *tenure) certain() bool {
	return !t.unsure[""] && !t.unsure[t.token] && (t.token != "" || len(t.unsure) == 0)
}

func extensionsOf(pairs history.Pairing, modes bool) extensions {
	x := extensions{modes: modes, grants: map[string][]history.Pair{}}
	tenures := map[evidence.Owner]*tenure{}
	for i, op := range pairs.Ops {
		at := pairs.Of[i]
		if at < 0 || op.Process == history.Nemesis {
			continue
		}
		p := pairs.All[at]
		where := evidence.Owner{Lock: p.Invoke.Lock, Client: p.Invoke.Client}
		if modes {
			where.Mode = p.Invoke.Mode
		}
		if tenures[where] == nil {
			tenures[where] = &tenure{unsure: map[string]bool{}}
		}
		x.entry(tenures[where], p, op)
	}
	return x
}

// entry processes the next entry op, which belongs to the operation p. It updates the tenure t, and
// collects grants and extensions in x.
func (x *extensions) entry(t *tenure, p history.Pair, op history.Op) {
	switch {
	case op.F == history.FRelease && op.Type == history.Invoke:
		t.since = nil
	case op.F == history.FAcquire && op.Type == history.Invoke && p.Done() == history.Info:
		t.unsure[p.Lease().Token] = true
	case op.F == history.FAcquire && op.Type == history.OK:
		t.since, t.token = p.Complete, p.Lease().Token
		x.grants[op.Lock] = append(x.grants[op.Lock], p)
	case op.F == history.FExtend && op.Type == history.OK:
		x.ok++
		ours := t.since != nil && t.since.Index < p.Invoke.Index && t.certain()
		if token := p.Lease().Token; ours && (token == "" || t.token == "" || token == t.token) {
			x.all = append(x.all, extended{p, t.since})
			t.since = p.Complete
		}
	}
}

// between returns the latest grant to another client whose acquire was invoked and answered after
// the reply e.since and before the extension was invoked; nil if there is none.
func (x *extensions) between(e extended) *history.Pair {
	grants := x.grants[e.Invoke.Lock]
	past, _ := slices.BinarySearchFunc(grants, e.Invoke.Index, func(g history.Pair, index int) int {
		return cmp.Compare(g.Complete.Index, index)
	})
	for i := past - 1; i >= 0 && grants[i].Complete.Index > e.since.Index; i-- {
		g := &grants[i]
		together := x.modes && g.Invoke.Mode == history.Read && e.Invoke.Mode == history.Read
		if g.Invoke.Index > e.since.Index && g.Invoke.Client != e.Invoke.Client && !together {
			return g
		}
	}
	return nil
}

func extensionFinding(e extended, g history.Pair) Finding {
	return Finding{
		Account: account.Account{
			Fact: account.Fact{
				What: account.ExtendedLate, Clients: []int{g.Invoke.Client, e.Invoke.Client},
				At: e.Complete.Time, Since: g.Complete.Time, Until: e.since.Time,
			},
			Operations: []account.Operation{touched(*e.since)},
		},
		Lock:    e.Invoke.Lock,
		Clients: []int{g.Invoke.Client, e.Invoke.Client},
		From:    g.Complete.Time,
		To:      max(e.Complete.Time, g.Complete.Time+time.Nanosecond),
		Ops:     indices(e.since.Index, g.Complete.Index, e.Invoke.Index, e.Complete.Index),
	}
}
