package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// side adds an operation of the client on the lock "other", with one command.
func (s *story) side(at float64, client int, f, reply string, args ...string) {
	s.invoke(at-1, client, f)
	op := s.open[client]
	op.Lock = "other"
	s.open[client], s.e.Ops[op.Index].Lock = op, op.Lock
	s.cmd(at, client, reply, args...)
	s.done(at+1, client, history.OK)
}

// besides makes the client acquire the lock "other" at 20. The function that besides returns
// adds the release of "other", at the time release.
func (s *story) besides(release float64, client int) func() {
	s.side(20, client, history.FAcquire, "OK", "SET", "other", "other-token", "NX", "PX", "5000")
	return func() {
		s.side(release, client, history.FRelease, "1", s.script("compare-and-delete", []string{"other"}, "other-token")...)
	}
}

// reasonOf judges the story and returns the first reason of its first overlap.
func reasonOf(t *testing.T, recipe string, tale func(*story)) account.Fact {
	t.Helper()
	s := tell(t, recipe)
	tale(s)
	v, err := Judge(t.Context(), s.evidence())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(v, func(v Verdict) bool { return v.Oracle == "exclusion" })
	if len(v[i].Findings) == 0 || len(v[i].Findings[0].Account.Reasons) == 0 {
		t.Fatalf("no overlap with a reason: %+v", v[i])
	}
	t.Log(plain.Summary(v[i].Findings[0]))
	return v[i].Findings[0].Account.Reasons[0]
}

// A client releases another lock, and its watchdog stops. The release is to blame for the next
// renewal's absence only if the release came before that renewal was due.
func TestAReleaseIsBlamedForARenewalThatWasNotYetDue(t *testing.T) {
	for _, c := range []struct {
		name     string
		renewals []float64 // when the lease, taken at 10, was renewed; negative if answered with an error
		release  float64
		want     account.What
	}{
		{"before the next was due", []float64{343, 676}, 800, account.RenewalStopped},
		{"after the next was due", []float64{343, 676}, 1200, account.RenewalMissing},
		{"no interval is known", []float64{343}, 500, account.RenewalStopped},
		{"a repetition after an error is no interval", []float64{-342, 343}, 500, account.RenewalStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reasonOf(t, "set-nx-px-watchdog", func(s *story) {
				s.take(10, 0, "OK", setPX("token-zero")...)
				release := s.besides(c.release, 0)
				for _, at := range c.renewals {
					if at < 0 {
						s.cmd(-at, 0, "NOSCRIPT No matching script. Please use EVAL.", "EVALSHA", strings.Repeat("0", 40), "1", "lock", "1")
						continue
					}
					s.cmd(at, 0, "1", "EXPIRE", "lock", "1")
				}
				release()
				s.hold(2100, 2200, 1, "token-one")
				s.give(2300, 0, "0", s.cad("token-zero")...)
			})
			if got.What != c.want {
				t.Errorf("got %s, want %s", got.What, c.want)
			}
		})
	}
}

func TestAReleaseIsNotBlamedForAFirstRenewalThatNeverCame(t *testing.T) {
	got := reasonOf(t, "set-nx-ex-bounded-renewal", func(s *story) {
		renewal := func(token string) []string { return s.script("compare-and-expire", []string{"lock"}, token, "1") }
		s.take(10, 1, "OK", "SET", "lock", "token-a", "EX", "1", "NX")
		s.cmd(12, 1, "1", renewal("token-a")...)
		s.give(14, 1, "1", s.cad("token-a")...)
		release := s.besides(500, 0)
		s.take(30, 0, "OK", "SET", "lock", "token-zero", "EX", "1", "NX")
		release()
		s.take(1100, 1, "OK", "SET", "lock", "token-one", "EX", "1", "NX")
		s.give(1200, 1, "1", s.cad("token-one")...)
		s.give(1300, 0, "0", s.cad("token-zero")...)
	})
	if got.What != account.RenewalMissing {
		t.Errorf("got %s, want %s", got.What, account.RenewalMissing)
	}
}

// An owner does not renew the lease that it holds, but its watchdog still renews leases that were
// released. The finding says that the released leases were renewed instead only if the watchdog
// renewed at least as many of them as it ever renewed leases at a time.
func TestRenewalsOfReleasedLeasesAreToldWhereTheHeldOneHasNone(t *testing.T) {
	for _, c := range []struct {
		name    string
		earlier int  // earlier leases of c0, each renewed at once
		again   int  // how many of these leases are renewed again after their release
		own     bool // whether the held lease is renewed once
		want    account.What
	}{
		{"all that it ever renewed at a time", 2, 2, false, account.RenewedInstead},
		{"fewer than it renewed at a time", 2, 1, false, account.RenewalMissing},
		{"the held lease was renewed", 2, 2, true, account.RenewalMissing},
		{"none", 2, 0, false, account.RenewalMissing},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reasonOf(t, "set-nx-ex-bounded-renewal", func(s *story) {
				renewal := func(token string) []string { return s.script("compare-and-expire", []string{"lock"}, token, "1") }
				for i := range c.earlier {
					at, token := 10+20*float64(i), fmt.Sprintf("token-%d", i)
					s.take(at, 0, "OK", "SET", "lock", token, "EX", "1", "NX")
					s.cmd(at+3, 0, "1", renewal(token)...)
					s.give(at+6, 0, "1", s.cad(token)...)
				}
				s.take(100, 0, "OK", "SET", "lock", "token-held", "EX", "1", "NX")
				if c.own {
					s.cmd(103, 0, "1", renewal("token-held")...)
				}
				for i := range c.again {
					s.cmd(1015+20*float64(i), 0, "0", renewal(fmt.Sprintf("token-%d", i))...)
				}
				s.take(1200, 1, "OK", "SET", "lock", "token-one", "EX", "1", "NX")
				s.give(1300, 1, "1", s.cad("token-one")...)
				s.give(1400, 0, "0", s.cad("token-held")...)
			})
			if got.What != c.want {
				t.Fatalf("got %s, want %s", got.What, c.want)
			}
			if c.want == account.RenewedInstead && (got.Count != 2 || got.Clients[0] != 0 || got.Read >= got.Until) {
				t.Errorf("got %+v, want 2 leases of c0, in the order of time", got)
			}
		})
	}
}
