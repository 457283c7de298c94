package check

import (
	"context"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// ModelWords lists the names of the models.
func ModelWords() string {
	var words []string
	for _, m := range linear.Models() {
		if m.Claims.Permits > 0 {
			m.Name += ":N"
		}
		words = append(words, m.Name)
	}
	return strings.Join(words, ", ")
}

// ByModel returns the function that judges a history by a model; none if model is "".
func ByModel(model string) []Judge {
	if model == "" {
		return nil
	}
	return []Judge{func(ctx context.Context, e history.Evidence) checker.Verdict {
		return checker.Linearizable(ctx, model, e)
	}}
}

// Modelled returns the claims c with the model's kind of lock in place of their own. The other
// claims of c remain, such as the lease time. The quorum is the greater of the two.
func Modelled(c history.Claims, model string) history.Claims {
	m, _ := linear.ModelNamed(model)
	of := m.Claims
	c.Reentrant, c.ReadWrite, c.Fenced, c.Permits = of.Reentrant, of.ReadWrite, of.Fenced, of.Permits
	c.Quorum = max(c.Quorum, of.Quorum)
	return c
}

// LacksFences reports whether the model asks for fencing tokens, and there are grants but none has
// a token.
func LacksFences(model string, ops []history.Op) bool {
	m, ok := linear.ModelNamed(model)
	return ok && m.Claims.Fenced && unfenced(ops)
}

// unfenced reports whether there are grants, and none has a fencing token.
func unfenced(ops []history.Op) bool {
	granted := func(op history.Op) bool {
		return op.Process != history.Nemesis && op.F == history.FAcquire && op.Type == history.OK
	}
	return slices.ContainsFunc(ops, granted) && !slices.ContainsFunc(ops, func(op history.Op) bool {
		return granted(op) && op.Lease != nil && op.Lease.Fence != 0
	})
}

// ReadingsDiffer says why one of the oracles exclusion and linearizable holds and the other is
// violated; "" if that is not so.
func ReadingsDiffer(verdicts []checker.Verdict) string {
	var believed, answered checker.Result
	for _, v := range verdicts {
		switch o := checker.OracleNamed(v.Oracle); {
		case o.OfModel:
			answered = v.Result
		case o.Harm == checker.HarmOverlap:
			believed = v.Result
		}
	}
	switch {
	case believed == checker.Held && answered == checker.Violated:
		return "exclusion holds and linearizable is violated: a client stops believing when it invokes the release, at its deadline or by a crash, but only a release that took effect frees the lock; and a model may ask for more than that no holds overlap."
	case believed == checker.Violated && answered == checker.Held:
		return "exclusion is violated and linearizable holds: a client believes until it invokes the release itself, but the lock may have been let go of under it, by anybody's release or by one of unknown outcome, or let the same client in again."
	}
	return ""
}

// Gravest returns the gravest result, which decides the exit code; Unknown if no oracle applies.
func Gravest(verdicts []checker.Verdict) checker.Result {
	for _, r := range []checker.Result{checker.Violated, checker.Unknown, checker.Held} {
		if slices.ContainsFunc(verdicts, func(v checker.Verdict) bool { return v.Result == r }) {
			return r
		}
	}
	return checker.Unknown
}
