package keyspace

import "testing"

// If a client sets a key to another client's token, the grant belongs to the other client.
func TestAValuePutThereForAnotherIsTheOthersGrant(t *testing.T) {
	tales(t, []tale{
		{"the releaser names the next one", `
			10 c0+ SET lock a NX PX 1000
			20 c1? SET lock b NX PX 1000
			30 c0- SET lock b PX 1000
			40 c1+ SET lock b XX PX 1000`, `
			c0 n0:lock=a @10 to 1010, 1030, 1040; under c1's of @30
			c1 n0:lock=b @30 handed to 1030, 1040; under c1's of @40
			c1 n0:lock=b @40 rested to 1040`},
		{"the next one is not waiting any more", `
			10 c1+ SET lock b NX PX 1000
			20 c1- DEL lock
			30 c0+ SET lock a NX PX 1000
			40 c0- SET lock b PX 1000`, `
			c1 n0:lock=b @10 to 1010; deleted @20 by c1's DEL
			c0 n0:lock=a @30 to 1030, 1040; under c1's of @40
			c1 n0:lock=b @40 handed to 1040`},
		{"a word that several clients use", `
			10 c0+ SET lock a NX PX 1000
			20 c1? SET lock taken NX PX 1000
			21 c2? SET lock taken NX PX 1000
			30 c0- SET lock taken PX 1000`, `
			c0 n0:lock=taken @10 to 1010, 1030`},
		{"a renewal that writes a token of its own", `
			10 c0+ SET lock a NX PX 1000
			20 c1? SET lock b NX PX 1000
			30 c0 SET lock c XX PX 1000`, `
			c0 n0:lock=c @10 to 1010, 1030`},
		{"a number is no token", `
			10 c0+ SET lock a NX PX 1000
			20 c1? SET lock 17 NX PX 1000
			30 c0- SET lock 17 PX 1000`, `
			c0 n0:lock=17 @10 to 1010, 1030`},
		{"a member that another client names", `
			10 c0+ ZADD lock 10 a
			20 c1 ZADD lock 20 a`, `
			c0 n0:lock.a=10 @10 to ∞; under c1's of @20
			c1 n0:lock.a=20 @20 to ∞
			c1's ZADD @20 replaced c0's of @10`},
		{"a member that another client moves", `
			10 c0+ SET lock a NX PX 1000
			20 c1? RPUSH queue b
			30 c0- RPOPLPUSH queue holders`, `
			c0 n0:lock=a @10 to 1010
			c1 n0:queue.b= @20 to ∞; deleted @30 by c0's RPOPLPUSH
			c1 n0:holders.b= @30 handed to ∞
			c0's RPOPLPUSH @30 removed c1's of @20`},
	})
}

// A value is handed to the client that waits for it even if the command's operation is not in the
// history, so that the sender's lock is unknown.
func TestAValueFromACommandOfAnUnknownOperation(t *testing.T) {
	e := enact(t, "10 c0+ SET lock a NX PX 1000\n20 c1? SET lock b NX PX 1000\n30 c0- SET lock b PX 1000")
	last := &e.Commands[len(e.Commands)-1]
	last.Op = 999
	handed := false
	for _, g := range Read(e).Grants {
		handed = handed || g.Handed && g.Client == 1
	}
	if !handed {
		t.Error("the value that another client waits for was not handed to it")
	}
}
