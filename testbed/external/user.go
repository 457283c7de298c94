package external

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Grant is the command with which an operator makes a user that can run every recipe of this
// repository, and touches only keys and channels whose names contain family.
const Grant = "ACL SETUSER lockstorm on >PASSWORD resetkeys ~*" + family + "* resetchannels &*" + family + "* -@all " +
	"+acl|whoami +acl|getuser +acl|dryrun +ping +hello +select +info +dbsize +scan +type +pttl +pexpiretime +time " +
	"+get +getrange +set +setnx +getset +del +unlink +exists +expire +pexpire +ttl +incr " +
	"+hget +hset +hsetnx +hdel +hexists +hgetall +hincrby +hlen +hkeys +hvals +hscan +zrange +smembers +sscan +lrange " +
	"+eval +evalsha +script|load +script|exists +publish +subscribe +unsubscribe +wait +watch +multi +exec +discard"

// harmful are commands, with arguments, that concern everybody who uses the server, whatever keys the
// user may touch. A script's commands need the same grants as the user's own.
var harmful = []string{
	"FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "KEYS *", "MIGRATE h 1 " + family + "k 0 1",
	"SCRIPT FLUSH", "SCRIPT KILL", "SCRIPT DEBUG YES", "FUNCTION FLUSH", "FUNCTION LOAD x", "FUNCTION DELETE x", "FUNCTION RESTORE x", "FUNCTION KILL",
	"CLIENT KILL h:1", "CLIENT PAUSE 1", "CLIENT UNPAUSE", "CLIENT UNBLOCK 1", "CLIENT NO-EVICT ON", "MONITOR", "MEMORY PURGE",
	"CONFIG SET a b", "CONFIG REWRITE", "CONFIG RESETSTAT", "ACL SETUSER x", "ACL DELUSER x", "ACL LOAD", "ACL SAVE", "ACL LOG RESET",
	"MODULE LOAD x", "MODULE LOADEX x", "MODULE UNLOAD x", "DEBUG SLEEP 0", "SHUTDOWN", "SAVE", "BGSAVE", "BGREWRITEAOF", "SLOWLOG RESET", "LATENCY RESET",
	"REPLICAOF h 1", "SLAVEOF h 1", "FAILOVER", "SYNC", "PSYNC x 1", "CLUSTER RESET",
}

// errFree marks the reasons why a user may touch what others have, or why the server does not tell.
var errFree = errors.New("others who use the server might be hurt")

// confined returns nil if the server's access control confines the connection's user to keys and
// channels whose names contain family, and to commands that are not harmful; else an error in one line.
func confined(ctx context.Context, c *redis.Client) error {
	name, err := c.Do(ctx, "ACL", "WHOAMI").Text()
	if err != nil {
		return fmt.Errorf("%w: it does not tell what a user may do (%w)", errFree, err)
	}
	user, err := c.Do(ctx, "ACL", "GETUSER", name).Slice()
	if err != nil {
		return fmt.Errorf("%w: it does not tell what user %s may do (%w)", errFree, name, err)
	}
	selectors, _ := fields(user)["selectors"].([]any)
	for _, rules := range append(selectors, user) {
		if pattern := wide(rules); pattern != "" {
			return fmt.Errorf("%w: user %s may use all keys or channels %s, not only *%s*", errFree, name, pattern, family)
		}
	}
	answers, _ := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, command := range harmful {
			args := []any{"ACL", "DRYRUN", name}
			for word := range strings.FieldsSeq(command) {
				args = append(args, word)
			}
			p.Do(ctx, args...)
		}
		return nil
	})
	for i, a := range answers {
		answer, err := a.(*redis.Cmd).Text()
		switch {
		case answer == "OK":
			return fmt.Errorf("%w: user %s may send %s", errFree, name, harmful[i])
		case err != nil && !strings.HasPrefix(err.Error(), "ERR Command '"): // the server has no such command
			return fmt.Errorf("%w: it does not tell which commands user %s may send (%w)", errFree, name, err)
		}
	}
	return nil
}

// wide returns a pattern of keys or channels that matches names without family; "" = none does.
func wide(rules any) string {
	told := fields(rules)
	for _, field := range []string{"keys", "channels"} {
		patterns, _ := told[field].(string) // before Redis 7.0 it is a list; such servers have no DRYRUN
		for pattern := range strings.FieldsSeq(patterns) {
			if !strings.Contains(pattern, family) || strings.ContainsAny(pattern, `[\`) {
				return pattern
			}
		}
	}
	return ""
}

// fields returns the values of a list of names and values.
func fields(list any) map[string]any {
	all := map[string]any{}
	values, _ := list.([]any)
	for i := 0; i+1 < len(values); i += 2 {
		if name, ok := values[i].(string); ok {
			all[name] = values[i+1]
		}
	}
	return all
}
