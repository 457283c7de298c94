package keyspace

import "testing"

func TestValuesThatOwnersUpdate(t *testing.T) {
	tales(t, []tale{
		{"by a watchdog, while its owner acquires another lock", `
			10 c1+@other SET other a PX 5
			20 c0+ SET lock a PX 1000
			30 c0+@other SET other b PX 1000
			31 c0& SET lock c PX 1000
			40 c1 DEL lock`, `
			c1 n0:other=a @10 to 15; expired @15
			c0 n0:lock=c @20 to 1020, 1031; deleted @40 by c1's DEL
			c0 n0:other=b @30 to 1030
			c1's DEL @40 removed c0's of @20`},
		{"by an acquire of another lock, which is the same key", `
			10 c1+@other SET lock a PX 5
			20 c0+ SET lock a PX 1000
			30 c0+@other SET lock b PX 1000`, `
			c1 n0:lock=a @10 to 15; expired @15
			c0 n0:lock=a @20 to 1020, 1030; under c0's of @30
			c0 n0:lock=b @30 to 1030`},
		{"by the next acquire of the same lock", `
			10 c0+ SET lock a PX 1000
			20 c0+ SET lock b PX 1000`, `
			c0 n0:lock=a @10 to 1010, 1020; under c0's of @20
			c0 n0:lock=b @20 to 1020`},
	})
}
