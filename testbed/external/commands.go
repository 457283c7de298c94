package external

import "github.com/lockstorm/lockstorm/testbed/resp"

// The guard sends the commands that touch only the keys and channels at their places: see
// resp.Command.Confined. A pattern with the prefix (PSUBSCRIBE) matches only the trial's channels,
// because the prefix has no special characters. Besides, it sends those of confiners and keyless. KEYS,
// FLUSHALL, FLUSHDB, SHUTDOWN, DEBUG, CONFIG, SCRIPT FLUSH, CLIENT KILL and the like are not among them.

// confiners are functions that confine commands whose keys the places cannot describe, by name.
var confiners map[string]func(g *guard, args []string) ([]string, error)

func init() { // an initial value would be a cycle: eval itself uses confiners
	confiners = map[string]func(g *guard, args []string) ([]string, error){
		"SCAN": scan, "CLIENT": client, "HELLO": hello, "SCRIPT": script,
		"EVAL": eval, "EVAL_RO": eval, "EVALSHA": eval, "EVALSHA_RO": eval,
	}
}

// keyless are commands without keys and channels that may be sent. Scripts may call those with true, too.
var keyless = map[string]bool{
	"TIME": true, "PING": true, "ECHO": true,
	"MULTI": false, "EXEC": false, "DISCARD": false, "UNWATCH": false, "WAIT": false, "WAITAOF": false,
	"COMMAND": false, "INFO": false, "DBSIZE": false, "QUIT": false,
}

// sent reports whether the guard sends the command of this name, in capitals, once it is confined.
func sent(name string) bool {
	_, free := keyless[name]
	return free || confiners[name] != nil || resp.Lookup(name).Confined()
}
