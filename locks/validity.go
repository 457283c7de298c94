package locks

import (
	"errors"
	"fmt"
	"time"
)

// claim sets the lease's deadline to the end of validity, counted from start on. The start is a
// reading of time.Now before the first request. claim reports whether any validity is left; if not,
// the lease stays unchanged.
//
// Elapsed time is monotonic, so a step of the wall clock during the acquisition changes nothing.
// The deadline is an instant on the wall clock, so a later step back would prolong the holder's
// belief. Therefore a monotonic timer also closes LostC at the end of the validity.
func (c *Client) claim(lease *Lease, start time.Time, validity time.Duration) bool {
	now := c.Now() // read first: a freeze between the two readings must not postpone the deadline
	left := validity - time.Since(start)
	if left <= 0 {
		return false
	}
	lost := make(chan struct{})
	time.AfterFunc(left, func() { close(lost) })
	lease.Deadline, lease.LostC = now.Add(left), lost
	return true
}

// errExtendedTooLate is the error of an extension whose reply came after the end of the new lease.
// The keys may live on for an unknown time.
var errExtendedTooLate = errors.New("extended, but answered when that was over")

// tooLate returns the error of an attempt whose grant came after the end of its lease. The argument
// given is the result of releasing that grant. The error is always ErrBusy.
func tooLate(given error) error {
	if given == nil || errors.Is(given, ErrNotHeld) {
		return fmt.Errorf("%w: granted when the lease was over", ErrBusy)
	}
	return fmt.Errorf("%w: granted when the lease was over (%v)", ErrBusy, given)
}
