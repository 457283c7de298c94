package keyspace

import (
	"testing"
	"time"
)

func TestTheLifeOfWhatAnOperationPutOnKeys(t *testing.T) {
	for _, c := range []struct {
		name, tale string
		want       time.Duration // the TTL that the first operation gave
		seen       bool
	}{
		{"none", "10 c0+ SET lock a", 0, true},
		{"by the command that grants", "10 c0+ SET lock a PX 1000", ms(1000), true},
		{"by another of the same operation", "10.4 c0+ SETNX lock a\n10.7 c0& EXPIRE lock 1", ms(1000), true},
		{"renewed, and cut short", "10 c0+ SET lock a PX 1000\n20 c0 PEXPIRE lock 1500\n30 c0 PEXPIRE lock 700", ms(1500), true},
		{"moved by a clock", "10 c0+ SET lock a PX 1000\n20 clock -60000", ms(1000), true},
		{"of two keys", "10 c0+ SET lock a PX 1000\n11 c0& SET queue a PX 5000\n12 c0& SET fence 1", ms(1000), true},
		{"not the next one's", "10 c0+ SET lock a PX 1000\n20 c0- DEL lock\n30 c1+ SET lock b PX 3000", ms(1000), true},
		{"it put nothing there", "10 c0+ PING\n20 stranger SET lock b PX 500", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, seen := Read(enact(t, c.tale)).TTLOf(0); got != c.want || seen != c.seen {
				t.Errorf("got %v (seen: %t), want %v (%t)", got, seen, c.want, c.seen)
			}
		})
	}
}
