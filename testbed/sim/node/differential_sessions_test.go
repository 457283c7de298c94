package node_test

import (
	"fmt"
	"strings"
)

// inSessions holds scripts of commands of several sessions that are compared whatever rapid draws. A line is the
// number of a session and its command, whose arguments spaces separate; an underscore stands for a space.
var inSessions = []string{
	// Transactions.
	"0 MULTI;0 SET k1 1;0 INCR k1;0 HGET k1 f;0 EXEC",
	"0 MULTI;0 SET k1 1;0 GET;0 EXEC;0 EXISTS k1",
	"0 SELECT 0;0 SELECT 16",
	// A node that becomes a replica, and a primary again.
	"0 SET k1 v;0 MULTI;0 SET k1 w;0 @replica yes;0 EXEC;0 SET k1 w;0 GETEX k1;0 GET k1;0 PUBLISH c1 m;" +
		"0 EVAL return_redis.call('GET','k1') 0;0 EVAL return_redis.call('DEL','k1') 0;0 EVAL return_redis.pcall('DEL','k1')['err'] 0;0 @replica no;0 SET k1 w",
	// Publishing.
	"1 HELLO 3;1 SUBSCRIBE c1;1 PSUBSCRIBE c* *;2 SUBSCRIBE c1 d;2 GET k1;2 PING;0 PUBLISH c1 m;0 PUBSUB NUMSUB c1 d e;0 PUBSUB CHANNELS;0 PUBSUB NUMPAT;2 UNSUBSCRIBE;2 GET k1",
	"1 SUBSCRIBE c1;0 EVAL redis.call('PUBLISH','c1','1')_return_redis.call('PUBLISH','c1','2') 0",
	// The cache of scripts. The digest is that of "return 1".
	"0 EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0;0 SCRIPT LOAD return_1;0 EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0;" +
		"0 SCRIPT FLUSH;0 SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db;0 EVAL return_1 0;0 EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
	// Unusual input.
	"0 GET \r\n;0 no\r\nsuch;0 KEYS [z-a;0 SETRANGE k1 -1 x;0 SETBIT k1 99999999999 1;0 LPUSH l1 a;0 LPOP l1 -1;0 GETRANGE l1 5 -9;" +
		"0 SRANDMEMBER x -5;0 EVAL return_{err='a\\r\\nb'} 0;0 EVAL return_{ok='a\\r\\nb'} 0",
}

// everySession returns the scripts of inSessions, and those that its tables of writes, patterns and tracking stand for.
func everySession() (all [][]step) {
	add := func(format string, args ...any) { all = append(all, inSession(fmt.Sprintf(format, args...))) }
	for _, lines := range inSessions {
		add("%s", lines)
	}
	// Which commands of another session change a watched key.
	for _, write := range []string{
		"SET k1 2", "DEL k1", "PEXPIRE k1 100000", "PEXPIREAT k1 @ms-5", "PERSIST k1", "SET k1 2 NX", "GET k1", "SET k2 2", "FLUSHALL",
		"EVAL redis.call('SET','k1',1) 0", "APPEND k1 x", "HSET k1 f v", "RENAME k1 k2", "DEL k2",
	} {
		add("0 SET k1 1;0 WATCH k1;1 %s;0 MULTI;0 PING;0 EXEC", write)
	}
	// Which names a pattern matches.
	for _, match := range []string{
		"* abc", "a* a", "a*c abbc", "a*c abb", "**b ab", "a?c abc", "a? a", "[a-c]x bx", "[c-a]x bx", "[^a]x bx", "[^b]x bx", `\* *`, `\* a`,
		"[ab a", `[\]] ]`, "a ab", `a\ a\`, "[ a",
	} {
		pattern, name, _ := strings.Cut(match, " ")
		add("0 SET %s v;0 KEYS %s;1 PSUBSCRIBE %[2]s;0 PUBLISH %[1]s m", name, pattern)
	}
	// Which writes a session with client-side caching hears of.
	for _, lines := range []string{
		"CLIENT TRACKING ON;0 GET k1;1 SET k1 v", "CLIENT TRACKING ON;0 EVAL return_redis.call('GET',KEYS[1]) 1 k1;1 SET k1 v", "CLIENT TRACKING ON;0 GET k1;1 SET k2 v",
		"CLIENT TRACKING ON;0 GET k1;1 DEL k1", "CLIENT TRACKING ON;1 SET k1 v", "GET k1;1 SET k1 v", "CLIENT TRACKING ON;0 GET k1;0 SET k1 v;1 SET k1 w",
		"CLIENT TRACKING ON NOLOOP;0 GET k1;0 SET k1 v", "CLIENT TRACKING ON OPTIN;0 GET k1;1 SET k1 v", "CLIENT TRACKING ON OPTIN;0 CLIENT CACHING YES;0 GET k1;1 SET k1 v",
		"CLIENT TRACKING ON OPTIN;0 CLIENT CACHING YES;0 GET k2;0 GET k1;1 SET k1 v", "CLIENT TRACKING ON OPTIN;0 CLIENT CACHING YES;0 MULTI;0 PTTL k1;0 GET k1;0 EXEC;1 SET k1 v",
		"CLIENT TRACKING ON OPTOUT;0 CLIENT CACHING NO;0 GET k1;1 SET k1 v", "CLIENT TRACKING ON BCAST PREFIX k;1 MSET k1 1 k2 2 h1 3", "CLIENT TRACKING ON BCAST;1 SET k1 v",
		"CLIENT TRACKING ON BCAST PREFIX x;1 SET k1 v", "CLIENT TRACKING ON BCAST NOLOOP;0 SET k1 v", "CLIENT TRACKING ON;0 GET k1;1 FLUSHALL",
		"CLIENT TRACKING ON;0 GET k1;1 EVAL redis.call('SET',KEYS[1],1) 1 k1",
	} {
		add("0 HELLO 3;0 %s", lines)
	}
	return all
}

func inSession(lines string) (steps []step) {
	for line := range strings.SplitSeq(lines, ";") {
		session, command, _ := strings.Cut(line, " ")
		args := strings.Split(command, " ")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		steps = append(steps, step{session: int(session[0] - '0'), args: args})
	}
	return steps
}
