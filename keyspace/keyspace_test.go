package keyspace

import (
	"slices"
	"strings"
	"testing"
)

// tale has the events to enact (see play), and the grants and strikes expected, one per line.
type tale struct{ name, tale, want string }

func tales(t *testing.T, all []tale) {
	t.Helper()
	for _, c := range all {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			var want []string
			for line := range strings.Lines(c.want) {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			e := enact(t, c.tale)
			for _, c := range e.Commands {
				if c.Failed() {
					t.Errorf("%s: %s", c.Args, c.Reply)
				}
			}
			if got := told(e); !slices.Equal(got, want) {
				t.Errorf("\n got\n\t\t\t%s\nwant\n\t\t\t%s", strings.Join(got, "\n\t\t\t"), strings.Join(want, "\n\t\t\t"))
			}
		})
	}
}

func TestGrantsOnStrings(t *testing.T) {
	tales(t, []tale{
		{"given back", `
			10 c0+ SET lock a NX PX 1000
			20 c1? SET lock b NX PX 1000
			30 c0- DEL lock`, `
			c0 n0:lock=a @10 to 1010; deleted @30 by c0's DEL`},
		{"expired", `
			10 c0+ SET lock a NX PX 1000
			1200 c1+ SET lock b NX PX 1000`, `
			c0 n0:lock=a @10 to 1010; expired @1010
			c1 n0:lock=b @1200 to 2200`},
		{"deleted by another", `
			10 c0+ SET lock a
			20 c1- DEL lock`, `
			c0 n0:lock=a @10 to ∞; deleted @20 by c1's DEL
			c1's DEL @20 removed c0's of @10`},
		{"overwritten by another's acquire", `
			10 c0+ SET lock a PX 1000
			20 c1+ SET lock b PX 1000
			30 c1- DEL lock`, `
			c0 n0:lock=a @10 to 1010, 1020; under c1's of @20; deleted @30 by c1's DEL
			c1 n0:lock=b @20 to 1020; deleted @30 by c1's DEL
			c1's SET @20 timed c0's of @10
			c1's SET @20 replaced c0's of @10`},
		{"overwritten by its own next acquire", `
			10 c0+ SET lock a PX 1000
			20 c0+ SET lock b PX 1000`, `
			c0 n0:lock=a @10 to 1010, 1020; under c0's of @20
			c0 n0:lock=b @20 to 1020`},
		{"written anew by its own acquire", `
			10 c0+ SETNX lock a
			11 c0& SET lock b PX 1000`, `
			c0 n0:lock=b @10 to ∞, 1011`},
		{"written anew by a renewal", `
			10 c0+ SET lock a PX 1000
			20 c0 SET lock b XX PX 1000`, `
			c0 n0:lock=b @10 to 1010, 1020`},
		{"overwritten by another's renewal", `
			10 c0+ SET lock a PX 1000
			20 c1 SET lock b XX PX 1000`, `
			c0 n0:lock=a @10 to 1010, 1020; under c1's of @20
			c1 n0:lock=b @20 to 1020
			c1's SET @20 timed c0's of @10
			c1's SET @20 replaced c0's of @10`},
	})
}

func TestLivesAndTakeoversOfStrings(t *testing.T) {
	tales(t, []tale{
		{"given a life, another, and none", `
			10 c0+ SETNX lock a
			11 c0& PEXPIRE lock 500
			100 c1 PEXPIRE lock 1000
			200 c0 PERSIST lock`, `
			c0 n0:lock=a @10 to ∞, 511, 1100, ∞
			c1's PEXPIRE @100 timed c0's of @10`},
		{"taken over where nothing changes", `
			10 c0+ SET lock 1
			20 c1+ SET lock 1
			30 c1- DEL lock`, `
			c0 n0:lock=1 @10 to ∞; under c1's of @20–20.1; deleted @30 by c1's DEL
			c1 n0:lock=1 @20–20.1 rested to ∞; deleted @30 by c1's DEL
			c1's DEL @30 removed c0's of @10, c1's of @20–20.1`},
		{"taken by who only asks and finds nothing of its own", `
			10 c0+ SET lock 1
			20 c1+ GET lock`, `
			c0 n0:lock=1 @10 to ∞; under c1's of @20–20.1
			c1 n0:lock=1 @20–20.1 rested to ∞`},
		{"asked for again by its owner", `
			10 c0+ SET lock 1
			20 c0+ GET lock`, `
			c0 n0:lock=1 @10 to ∞; under c0's of @20–20.1
			c0 n0:lock=1 @20–20.1 rested to ∞`},
		{"refused", `
			10 c0+ SET lock 1
			20 c1? GET lock`, `
			c0 n0:lock=1 @10 to ∞`},
		{"turned into another type", `
			10 c0+ SET lock a
			20 c1 EVAL redis.call('DEL',KEYS[1])redis.call('HSET',KEYS[1],'f','v') 1 lock`, `
			c0 n0:lock=a @10 to ∞; deleted @20 by c1's EVAL
			c1 n0:lock.f=v @20 to ∞
			c1's EVAL @20 removed c0's of @10`},
	})
}

func TestGrantsInPlacesOfOneKey(t *testing.T) {
	tales(t, []tale{
		{"fields of a hash", `
			10 c0+ HSET lock f0 1
			20 c1+ HSET lock f1 1
			30 c0- HDEL lock f0
			40 c2 DEL lock`, `
			c0 n0:lock.f0=1 @10 to ∞; deleted @30 by c0's HDEL
			c1 n0:lock.f1=1 @20 to ∞; deleted @40 by c2's DEL
			c2's DEL @40 removed c1's of @20`},
		{"a field that another writes", `
			10 c0+ HSET lock read 1
			20 c1+ HSET lock read 2`, `
			c0 n0:lock.read=1 @10 to ∞; under c1's of @20
			c1 n0:lock.read=2 @20 to ∞
			c1's HSET @20 replaced c0's of @10`},
		{"a life that fields share", `
			10 c0+ HSET lock f0 1
			11 c0& PEXPIRE lock 500
			20 c1+ HSET lock f1 1
			21 c1& PEXPIRE lock 500`, `
			c0 n0:lock.f0=1 @10 to ∞, 511, 521
			c1 n0:lock.f1=1 @20 to 511, 521
			c1's PEXPIRE @21 timed c0's of @10, c1's of @20`},
		{"members of a set", `
			10 c0+ SADD lock m0
			20 c1+ SADD lock m1
			30 c1- SREM lock m1 m0`, `
			c0 n0:lock.m0= @10 to ∞; deleted @30 by c1's SREM
			c1 n0:lock.m1= @20 to ∞; deleted @30 by c1's SREM
			c1's SREM @30 removed c0's of @10, c1's of @20`},
		{"members of a sorted set", `
			10 c0+ ZADD lock 10 m0
			20 c1+ ZADD lock 20 m1
			30 c1 ZADD lock 30 m0
			40 c2 ZREMRANGEBYSCORE lock -inf 25`, `
			c0 n0:lock.m0=10 @10 to ∞; under c1's of @30
			c1 n0:lock.m1=20 @20 to ∞; deleted @40 by c2's ZREMRANGEBYSCORE
			c1 n0:lock.m0=30 @30 to ∞
			c1's ZADD @30 replaced c0's of @10
			c2's ZREMRANGEBYSCORE @40 removed c1's of @20`},
		{"a queue that others join", `
			10 c0+ RPUSH queue c0
			20 c1? RPUSH queue c1
			30 c2? RPUSH queue c1
			40 c0- LPOP queue`, `
			c0 n0:queue.c0= @10 to ∞; deleted @40 by c0's LPOP
			c1 n0:queue.c1= @20 to ∞
			c2 n0:queue.c1#2= @30 to ∞`},
		{"several keys of one command", `
			10 c0+ MSET lock a lock:fence 7
			20 c1 DEL lock lock:fence`, `
			c0 n0:lock=a @10 to ∞; deleted @20 by c1's DEL
			c0 n0:lock:fence=7 @10 to ∞; deleted @20 by c1's DEL
			c1's DEL @20 removed c0's of @10
			c1's DEL @20 removed c0's of @10`},
	})
}

func TestGrantsThatANodeLosesAndKeeps(t *testing.T) {
	tales(t, []tale{
		{"evicted", `
			10 c0+ SET lock a PX 1000
			50 evict`, `
			c0 n0:lock=a @10 to 1010; lost @50 by evict`},
		{"lost in a restart", `
			10 c0+ SET lock a PX 1000
			50 restart 0`, `
			c0 n0:lock=a @10 to 1010; lost @50 by node-down`},
		{"kept over a restart", `
			10 c0+ SET lock a PX 1000
			50 restart 1`, `
			c0 n0:lock=a @10 to 1010`},
		{"renewed, which the restart forgot", `
			10 c0+ SET lock a PX 1000
			20 c0 PEXPIRE lock 3000
			50 restart 1`, `
			c0 n0:lock=a @10 to 1010, 3020, 1010`},
		{"given back, which the restart forgot", `
			10 c0+ SET lock a PX 1000
			20 c0- DEL lock
			50 restart 1`, `
			c0 n0:lock=a @10 to 1010; deleted @20 by c0's DEL
			c0 n0:lock=a @10 copied to 1010`},
		{"overwritten, which the restart forgot", `
			10 c0+ SET lock a
			20 c1+ SET lock b
			50 restart 1`, `
			c0 n0:lock=a @10 to ∞; under c1's of @20; lost @50 by node-down
			c1 n0:lock=b @20 to ∞; lost @50 by node-down
			c0 n0:lock=a @10 copied to ∞
			c1's SET @20 replaced c0's of @10`},
		{"entered twice, of which the restart forgot one", `
			10 c0+ HINCRBY lock owner 1
			20 c0+ HINCRBY lock owner 1
			50 restart 1`, `
			c0 n0:lock.owner=1 @10 to ∞; under c0's of @20; lost @50 by node-down
			c0 n0:lock.owner=2 @20 to ∞; lost @50 by node-down
			c0 n0:lock.owner=1 @10 copied to ∞`},
	})
}

func TestGrantsOnSeveralNodes(t *testing.T) {
	tales(t, []tale{
		{"promoted with it", `
			10 c0+ SET lock a PX 1000
			50 promote n1 1
			60 n1:c1? GET lock`, `
			c0 n0:lock=a @10 to 1010
			c0 n1:lock=a @10 copied to 1010`},
		{"promoted without it", `
			10 c0+ SET lock a PX 1000
			50 promote n1 0
			60 n1:c1+ SET lock b`, `
			c0 n0:lock=a @10 to 1010
			c0 n1:lock=a @10 copied to 1010; lost @50 by promote
			c1 n1:lock=b @60 to ∞`},
		{"promoted with it, though it was given back", `
			10 c0+ SET lock a PX 1000
			20 c0- DEL lock
			50 promote n1 1
			60 n1:c1? GET lock`, `
			c0 n0:lock=a @10 to 1010; deleted @20 by c0's DEL
			c0 n1:lock=a @10 copied to 1010`},
		{"promoted, by a clock that is ahead", `
			1 n1:clock 5000
			10 c0+ SET lock a PX 1000
			50 promote n1 1
			60 n1:c1? GET lock`, `
			c0 n0:lock=a @10 to 1010
			c0 n1:lock=a @10 copied to -3990 not 1010; expired @50`},
		{"on both sides of a split", `
			10 c0+ SET lock a PX 1000
			50 split n1 1
			60 c0 PEXPIRE lock 3000
			70 n1:c1? GET lock
			80 n1:c1 DEL lock`, `
			c0 n0:lock=a @10 to 1010, 3060
			c0 n1:lock=a @10 copied to 1010; deleted @80 by c1's DEL
			c1's DEL @80 removed c0's of @10`},
		{"on one side of a split", `
			10 c0+ SET lock a PX 1000
			50 split n1 0
			60 n1:c1+ SET lock b`, `
			c0 n0:lock=a @10 to 1010
			c0 n1:lock=a @10 copied to 1010; lost @50 by split
			c1 n1:lock=b @60 to ∞`},
		{"moved with its slot", `
			10 c0+ SET lock a PX 1000
			50 migrate n1
			60 n1:c0- DEL lock`, `
			c0 n1:lock=a @10 moved to 1010; deleted @60 by c0's DEL`},
	})
}

func TestGrantsUnderANodesClock(t *testing.T) {
	tales(t, []tale{
		{"set forward beyond its end", `
			10 c0+ SET lock a PX 1000
			50 clock 5000
			300 c1? GET lock`, `
			c0 n0:lock=a @10 to 0.000001 not 1010; expired @50`},
		{"set forward by a part of its life", `
			10 c0+ SET lock a PX 1000
			50 clock 500
			700 c1? GET lock`, `
			c0 n0:lock=a @10 to 510 not 1010; expired @510`},
		{"set back", `
			10 c0+ SET lock a PX 1000
			50 clock -500
			1200 c1? GET lock`, `
			c0 n0:lock=a @10 to 1510 not 1010`},
		{"set back and right again", `
			10 c0+ SET lock a PX 1000
			50 clock -500
			1200 clock 0
			1400 c1? GET lock`, `
			c0 n0:lock=a @10 to 1010; expired @1200`},
		{"set back after its end, which a restart forgot", `
			5 clock 5000
			10 c0+ SET lock a PX 1000
			20 c0- DEL lock
			30 clock 0
			50 restart 1
			60 c1? GET lock`, `
			c0 n0:lock=a @10 to 1010; deleted @20 by c0's DEL
			c0 n0:lock=a @10 copied to 1010, 6010 not 1010`},
		{"wrong all the time", `
			5 clock 5000
			10 c0+ SET lock a PX 1000
			1200 c1? GET lock`, `
			c0 n0:lock=a @10 to 1010; expired @1010`},
	})
}

func TestGrantsOfWhichNobodyKnows(t *testing.T) {
	tales(t, []tale{
		{"a stranger's", `
			10 stranger SET lock a
			20 c0- DEL lock`, `
			someone n0:lock=a @10 to ∞; deleted @20 by c0's DEL
			c0's DEL @20 removed someone's of @10`},
		{"a stranger deletes", `
			10 c0+ SET lock a
			20 stranger DEL lock`, `
			c0 n0:lock=a @10 to ∞; deleted @20`},
		{"a stranger overwrites", `
			10 c0+ SET lock a
			20 stranger SET lock b`, `
			c0 n0:lock=a @10 to ∞; under someone's of @20
			someone n0:lock=b @20 to ∞`},
		{"gone for a reason that nobody knows", `
			10 c0+ SET lock a
			20 unknown DEL lock
			30 c1+ SET lock b`, `
			c0 n0:lock=a @10 to ∞; unclear @20
			c1 n0:lock=b @30 to ∞`},
		{"changed for a reason that nobody knows", `
			10 c0+ SET lock a
			20 unknown SET lock b`, `
			c0 n0:lock=a @10 to ∞; unclear @20
			someone n0:lock=b @20 to ∞`},
		{"not seen any more", `
			10 c0+ SET lock a
			20 unseen
			30 c0- DEL lock`, `
			c0 n0:lock=a @10 to ∞; unclear @20 by unseen
			n0's keys could not be watched: it hung up`},
		{"of a node that nobody used, not seen any more", `
			10 c0+ SET lock a
			20 n1:unseen`, `
			c0 n0:lock=a @10 to ∞`},
	})
}
