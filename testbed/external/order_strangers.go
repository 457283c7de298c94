package external

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// keyless lists commands that change no key, whatever their arguments are. Scripts are
// among them: what they call is told, a line each. What is not listed counts as a write,
// so commands that change keys only sometimes (SORT, GETEX, BITFIELD) are not, nor is
// what only some versions know.
const keyless = `
AUTH HELLO SELECT PING ECHO QUIT RESET CLIENT COMMAND READONLY READWRITE
INFO TIME DBSIZE LASTSAVE ROLE LOLWUT MEMORY LATENCY SLOWLOG ACL MONITOR
REPLCONF PSYNC SYNC WAIT WAITAOF
MULTI EXEC DISCARD WATCH UNWATCH
PUBLISH SPUBLISH PUBSUB SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE
EVAL EVAL_RO EVALSHA EVALSHA_RO FCALL FCALL_RO SCRIPT
KEYS SCAN RANDOMKEY EXISTS TYPE TTL PTTL EXPIRETIME PEXPIRETIME OBJECT TOUCH DUMP SORT_RO
GET MGET GETRANGE SUBSTR STRLEN LCS GETBIT BITCOUNT BITPOS BITFIELD_RO
HGET HMGET HGETALL HKEYS HVALS HLEN HEXISTS HSTRLEN HRANDFIELD HSCAN HTTL HPTTL HEXPIRETIME HPEXPIRETIME
LINDEX LLEN LPOS LRANGE
SCARD SISMEMBER SMISMEMBER SMEMBERS SRANDMEMBER SSCAN SDIFF SINTER SINTERCARD SUNION
ZCARD ZCOUNT ZLEXCOUNT ZSCORE ZMSCORE ZRANK ZREVRANK ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX
ZREVRANGEBYSCORE ZRANDMEMBER ZSCAN ZDIFF ZINTER ZINTERCARD ZUNION
XLEN XRANGE XREVRANGE XREAD XPENDING XINFO
GEODIST GEOHASH GEOPOS GEOSEARCH GEORADIUS_RO GEORADIUSBYMEMBER_RO`

var changesNothing = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(keyless) {
		all[name] = true
	}
	return all
}()

// stranger looks at a command that no client of the trial sent. It is an error if that may
// have written: then clients' commands alone do not explain what is on the node.
func stranger(args []history.Bytes, from string) error {
	flushes := len(args) > 1 && strings.EqualFold(string(args[0]), "SCRIPT") && strings.EqualFold(string(args[1]), "FLUSH")
	if changesNothing[testbed.CommandName(args)] && !flushes { // without its script, a client's EVALSHA does nothing
		return nil
	}
	return fmt.Errorf("somebody else wrote: %s from %s", spelled(args), from)
}

// spelled is a command in one line that is not long.
func spelled(args []history.Bytes) string {
	const mostArgs, mostBytes = 6, 40
	var words []string
	for _, arg := range args[:min(len(args), mostArgs)] {
		word := string(arg[:min(len(arg), mostBytes)])
		if quoted := strconv.Quote(word); quoted != `"`+word+`"` || word == "" || strings.Contains(word, " ") {
			word = quoted
		}
		if len(arg) > mostBytes {
			word += "…"
		}
		words = append(words, word)
	}
	if len(args) > mostArgs {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}
