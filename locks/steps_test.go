package locks

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is a step of a test: what a client does, the commands that the first node then sees, and the
// result. In the commands, $token stands for the token of the lease that do returns.
type step struct {
	name string
	do   func() (Lease, error)
	want string // joined by ", "
	err  error
}

var until = regexp.MustCompile(`\b[0-9]{13}:`)

// play plays steps on a real node. Clients have no commands but those of the steps.
func play(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		var lease Lease
		var err error
		got := wire(seen(t, func() { lease, err = s.do() }))
		got = slices.DeleteFunc(got, func(c string) bool { return strings.HasPrefix(c, "REPLCONF") })
		// rw-hash-owners sends the end of a lease before its token.
		if got, want := until.ReplaceAllString(strings.Join(got, ", "), "$$until:"), strings.ReplaceAll(s.want, "$token", lease.Token); got != want {
			t.Errorf("%s: the node saw\n%s, want\n%s", s.name, got, want)
		}
		if !errors.Is(err, s.err) {
			t.Errorf("%s: got %v, want %v", s.name, err, s.err)
		}
	}
}

// try makes one attempt, and keeps its lease in *lease, unless lease is nil.
func try(t *testing.T, l Lock, lease *Lease) func() (Lease, error) {
	return func() (Lease, error) {
		got, err := l.TryLock(t.Context())
		if lease != nil {
			*lease = got
		}
		return got, err
	}
}

// release releases *lease.
func release(t *testing.T, l Lock, lease *Lease) func() (Lease, error) {
	return func() (Lease, error) { return *lease, l.Unlock(t.Context(), *lease) }
}
