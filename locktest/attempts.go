package locktest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// undialed is the likeliest reason why the simulated nodes saw no command.
const undialed = "no node saw a command of the lock: its Redis client must connect with Client.Dial (go-redis: Options.Dialer)"

// whyNobody says why nobody acquired the lock in a fault-free trial. The parameter failed is the
// first error of an attempt, or "" if all attempts were busy.
func whyNobody(r trial.Record, failed string) string {
	why := "every attempt was ErrBusy"
	if failed != "" {
		why = "Acquire failed: " + failed
	}
	if unseen(r) && !strings.Contains(failed, wrongAddress) {
		why += "; " + undialed
	}
	return why
}

// unseen reports whether the nodes saw no command of the lock. The handshakes of the harness's own
// connections do not count: they have no number (N is 0) and belong to no call of the lock (Op is
// -1).
func unseen(r trial.Record) bool {
	return !slices.ContainsFunc(r.Evidence.Commands, func(c history.Command) bool { return c.N > 0 || c.Op >= 0 })
}

// attempt is one call of Acquire in a fault-free trial, before the trial's liveness phase.
type attempt struct {
	history.Op // the attempt's completion, or its invocation if it has no completion
	waited     time.Duration
	// inside: the attempt's client already held the lock when the attempt began. behind: another
	// client held the lock then.
	inside, behind bool
	since          time.Duration // if inside: the time at which the client first got the lock that it holds
	// answered: the attempt sent commands, and each had a reply that is no error before the attempt ended.
	answered bool
}

func attemptsOf(r trial.Record) (all []attempt) {
	// By client: held is the number of grants that the client has, pending the index of its latest attempt.
	held, pending, now := map[int]int{}, map[int]int{}, time.Duration(0)
	since := map[int]time.Duration{}
	sent := map[int][]history.Command{} // by the operation's index
	for _, c := range r.Evidence.Commands {
		if c.Op >= 0 {
			sent[c.Op] = append(sent[c.Op], c)
		}
	}
	for _, op := range r.Evidence.Ops {
		now = op.Time
		switch {
		case op.F == history.FHealed:
			return waiting(all, now)
		case op.F == history.FAcquire && op.Type == history.Invoke:
			a := attempt{Op: op, inside: held[op.Client] > 0, since: since[op.Client]}
			for client, n := range held {
				a.behind = a.behind || n > 0 && client != op.Client
			}
			pending[op.Client] = len(all)
			all = append(all, a)
		case op.F == history.FAcquire:
			a := &all[pending[op.Client]]
			a.answered = answered(sent[a.Index])
			a.Op, a.waited = op, op.Time-a.Time
			if op.Type == history.OK {
				if held[op.Client]++; held[op.Client] == 1 {
					since[op.Client] = op.Time
				}
			}
		case op.F == history.FRelease && op.Type != history.Invoke:
			held[op.Client]--
		}
	}
	return waiting(all, now)
}

// waiting sets how long each unfinished attempt has waited until now.
func waiting(all []attempt, now time.Duration) []attempt {
	for i, a := range all {
		if a.Type == history.Invoke {
			all[i].waited = now - a.Time
		}
	}
	return all
}

// reentryLacks says how a holder's re-entry failed. It returns "" if every re-entry was granted
// within a quarter of the lease. A lock that waits until its own key expires takes longer.
func reentryLacks(all []attempt, ttl time.Duration) string {
	for _, a := range all {
		waited := a.waited.Round(time.Millisecond)
		switch {
		case !a.inside:
		case a.Type == history.Fail:
			return "was refused: ErrBusy"
		case a.Type == history.Info:
			return fmt.Sprintf("failed after %v: %s", waited, a.Error)
		case a.waited > ttl/2 && a.Type == history.OK && a.Time-a.since >= ttl:
			return fmt.Sprintf("waited %v, until its own lease had ended", waited)
		case a.waited > ttl/4:
			return fmt.Sprintf("waited %v: expected at most a quarter of the lease", waited)
		}
	}
	return ""
}

// answered reports whether commands were sent and all of them had replies that are no errors.
func answered(sent []history.Command) bool {
	return len(sent) > 0 && !slices.ContainsFunc(sent, func(c history.Command) bool { return c.Replied == 0 || c.Failed() })
}

// busyHint returns a hint about ErrBusy if attempts ended with an error of unknown outcome although Redis had
// answered them while another client held the lock; "" = none did.
func busyHint(all []attempt) string {
	n, text := 0, ""
	for _, a := range all {
		if a.Type == history.Info && a.behind && !a.inside && a.answered {
			n, text = n+1, a.Error
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("without any fault, %d %s of Acquire ended with an error that leaves open whether the lock was acquired (%q), although Redis had answered each command and another client held the lock: should Acquire return ErrBusy?",
		n, wording.Plural(n, "call"), text)
}

// turnHint returns a hint about the option Blocking if the lock waits for its turn without that
// option, or does not wait with it. "" = the lock does as the option says.
func turnHint(all []attempt, ttl time.Duration, blocking bool) string {
	var longest, gaveUpAfter time.Duration
	gaveUp := 0
	for _, a := range all {
		switch {
		case a.inside || !a.behind || a.Type == history.Invoke:
		case a.Type == history.Fail && a.waited < ttl:
			gaveUp, gaveUpAfter = gaveUp+1, max(gaveUpAfter, a.waited)
			longest = max(longest, a.waited)
		case a.Type == history.OK:
			longest = max(longest, a.waited)
		}
	}
	switch {
	case blocking && gaveUp > 0:
		after := "at once"
		if gaveUpAfter >= time.Millisecond {
			after = fmt.Sprintf("after at most %v", gaveUpAfter.Round(time.Millisecond))
		}
		return fmt.Sprintf("without any fault, Acquire gave up %d %s %s, while its context went on: the option Blocking is for a lock that waits for its turn",
			gaveUp, wording.Plural(gaveUp, "time"), after)
	case !blocking && longest > ttl/100:
		return fmt.Sprintf("Acquire waited up to %v for its turn: the option Blocking tests contexts that end meanwhile", longest.Round(time.Millisecond))
	}
	return ""
}

// byWallClock reports whether the attempt's lease has a deadline on the client's wall clock.
func (a attempt) byWallClock() bool {
	return a.Lease != nil && a.Lease.Deadline > 0 && !a.Lease.Monotonic
}
