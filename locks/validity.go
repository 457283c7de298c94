package locks

import (
	"errors"
	"fmt"
	"time"
)

// claim makes the lease claim exclusion for validity, counted from start: a reading of
// time.Now from before the first request. It reports whether any validity is left; if not,
// the lease stays unchanged.
//
// Elapsed time is monotonic, so a step of the wall clock during the acquisition changes
// nothing. The deadline must be an instant on the wall clock, and a later step back
// would prolong the belief; so a monotonic timer also ends it through LostC.
func (c *Client) claim(lease *Lease, start time.Time, validity time.Duration) bool {
	now := c.Now() // read first: a freeze between the two readings must shorten the claim
	left := validity - time.Since(start)
	if left <= 0 {
		return false
	}
	lost := make(chan struct{})
	time.AfterFunc(left, func() { close(lost) })
	lease.Deadline, lease.LostC = now.Add(left), lost
	return true
}

// errExtendedTooLate is the error of an extension whose answer came after the end of the
// new lease: keys may live on for an unknown time.
var errExtendedTooLate = errors.New("extended, but answered when that was over")

// tooLate returns the error of an attempt whose grant came after the end of its lease.
// Given is the result of its release. The error is ErrBusy in any case.
func tooLate(given error) error {
	if given == nil || errors.Is(given, ErrNotHeld) {
		return fmt.Errorf("%w: granted when the lease was over", ErrBusy)
	}
	return fmt.Errorf("%w: granted when the lease was over (%v)", ErrBusy, given)
}
