package testbed

import "github.com/lockstorm/lockstorm/history"

// blocking are the commands that Redis answers when something happens or the time is up.
var blocking = map[string]bool{
	"WAIT": true, "WAITAOF": true, "BLPOP": true, "BRPOP": true, "BLMOVE": true, "BLMPOP": true,
	"BRPOPLPUSH": true, "BZPOPMIN": true, "BZPOPMAX": true, "BZMPOP": true, "XREAD": true, "XREADGROUP": true,
}

// Blocks says whether Redis may answer the command later than it begins to execute it,
// and execute others meanwhile.
func Blocks(args []history.Bytes) bool { return blocking[CommandName(args)] }

// Tell calls what is to be told of something, as Nodes.Kill's down, if it is not nil.
func Tell(of func() error) error {
	if of == nil {
		return nil
	}
	return of()
}
