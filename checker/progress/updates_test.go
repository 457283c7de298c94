package progress

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestLostUpdatesAreCounted(t *testing.T) {
	for _, c := range []struct {
		name          string
		claims        history.Claims
		text          string
		updates, lost int
	}{
		{"one section after another", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c0 write 4-4 ok seq=2 value=1
			c0 release 5-6 ok
			c1 acquire 5-7 ok
			c1 read 8-8 ok seq=3 value=1
			c1 write 9-9 ok seq=4 value=2`, 2, 0},
		{"one client overwrites the updates of two", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c1 acquire 4-5 ok
			c1 read 6-6 ok seq=2 value=0
			c1 write 7-7 ok seq=3 value=1
			c1 release 8-9 ok
			c2 acquire 9-10 ok
			c2 read 11-11 ok seq=4 value=1
			c2 write 12-12 ok seq=5 value=2
			c0 write 20-20 ok seq=6 value=1`, 3, 2},
		{"an update that two clients overwrite is lost once", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 1-2 ok
			c2 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c1 read 4-4 ok seq=2 value=0
			c2 read 5-5 ok seq=3 value=0
			c2 write 6-6 ok seq=4 value=1
			c0 write 7-7 ok seq=5 value=1
			c1 write 8-8 ok seq=6 value=1`, 3, 2},
		{"an update that the other client read before it wrote again is not lost", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c0 write 4-4 ok seq=2 value=1
			c1 acquire 5-6 ok
			c1 read 7-7 ok seq=3 value=1
			c1 write 8-8 ok seq=4 value=2
			c0 read 9-9 ok seq=5 value=2
			c0 write 10-10 ok seq=6 value=3`, 3, 0},
		{"a client that stopped overwrites nothing", history.Claims{}, `
			c0 acquire 1-2 ok deadline=5
			c0 read 3-3 ok seq=1 value=0
			c1 acquire 6-7 ok
			c1 read 8-8 ok seq=2 value=0
			c1 write 9-9 ok seq=3 value=1`, 1, 0},
		{"several clients may be in at once", history.Claims{Permits: 2}, `
			c0 acquire 1-2 ok
			c1 acquire 1-2 ok
			c0 read 3-3 ok seq=1 value=0
			c1 read 4-4 ok seq=2 value=0
			c0 write 5-5 ok seq=3 value=1
			c1 write 6-6 ok seq=4 value=1`, 0, 0},
	} {
		e := history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims}
		p := Measure(e)
		if p.Updates != c.updates || p.LostUpdates != c.lost {
			t.Errorf("%s: %d of %d updates lost, want %d of %d", c.name, p.LostUpdates, p.Updates, c.lost, c.updates)
		}
		if last := e.Ops[len(e.Ops)-1].Time; (p.Lasted != last) != (c.updates == 0) {
			t.Errorf("%s: lasted %v, the last entry is of %v", c.name, p.Lasted, last)
		}
	}
}
