package locks

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestALeaseClaimsWhatIsLeftOfItsValidity(t *testing.T) {
	const validity = time.Second
	tests := []struct {
		name      string
		asked     time.Duration // how long acquiring the lock took
		stepped   time.Duration // the step of the wall clock meanwhile
		claims    bool
		remaining time.Duration
	}{
		{"at once", 0, 0, true, validity},
		{"counted from before the first request", 300 * time.Millisecond, 0, true, 700 * time.Millisecond},
		{"the last moment", validity - 1, 0, true, 1},
		{"nothing is left", validity, 0, false, 0},
		{"less than nothing is left", time.Hour, 0, false, 0},
		{"the wall clock was set back meanwhile", 300 * time.Millisecond, -time.Hour, true, 700 * time.Millisecond},
		{"the wall clock was set forward meanwhile", 300 * time.Millisecond, time.Hour, true, 700 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wall := time.UnixMilli(1_000_000)
				c := &Client{Now: func() time.Time { return wall }}
				start := time.Now()
				time.Sleep(tt.asked)
				wall = wall.Add(tt.stepped)
				var lease Lease
				if got := c.claim(&lease, start, validity); got != tt.claims {
					t.Fatalf("claims %t, want %t", got, tt.claims)
				}
				if !tt.claims {
					if lease != (Lease{}) {
						t.Errorf("lease %+v, want an empty one", lease)
					}
					return
				}
				if want := wall.Add(tt.remaining); !lease.Deadline.Equal(want) {
					t.Errorf("deadline %v, want %v", lease.Deadline, want)
				}
			})
		})
	}
}

func TestNoWallClockProlongsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := time.UnixMilli(1_000_000)
		c := &Client{Now: func() time.Time { return wall }}
		var lease Lease
		c.claim(&lease, time.Now(), time.Second)
		wall = wall.Add(-time.Hour)
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		select {
		case <-lease.Lost():
			t.Error("the lease is lost before its validity is over")
		default:
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		select {
		case <-lease.Lost():
		default:
			t.Error("the lease goes on when its validity is over")
		}
	})
}
