package reports

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// effect is what one command did to one key.
type effect struct {
	kind  history.EffectKind
	key   string
	field bool
	ttl   time.Duration
	// free: the command only succeeds if nobody else has the key, as SET NX.
	free bool
}

// effects says what a command that ran did to keys, as far as its reply tells.
func effects(c history.Command, scripts []history.Script) []effect {
	if len(c.Args) < 2 || c.Failed() {
		return nil
	}
	name := strings.ToUpper(string(c.Args[0]))
	if name == "EVAL" || name == "EVALSHA" {
		return scriptEffects(name, c, scripts)
	}
	key, reply := string(c.Args[1]), string(c.Reply)
	arg := func(i int, unit time.Duration) time.Duration { return duration(c.Args, i, unit) }
	changed := reply != "nil" && reply != "0"
	switch name {
	case "SET":
		if changed {
			return []effect{{kind: history.EffectSet, key: key, ttl: setTTL(c.Args), free: onlyIfFree(c.Args)}}
		}
	case "SETNX", "GETSET":
		if changed || name == "GETSET" {
			return []effect{{kind: history.EffectSet, key: key, free: name == "SETNX" || reply == "nil"}}
		}
	case "SETEX":
		return []effect{{kind: history.EffectSet, key: key, ttl: arg(2, time.Second)}}
	case "PSETEX":
		return []effect{{kind: history.EffectSet, key: key, ttl: arg(2, time.Millisecond)}}
	case "EXPIRE":
		if changed {
			return []effect{{kind: history.EffectExpire, key: key, ttl: arg(2, time.Second)}}
		}
	case "PEXPIRE":
		if changed {
			return []effect{{kind: history.EffectExpire, key: key, ttl: arg(2, time.Millisecond)}}
		}
	case "PERSIST":
		if changed {
			return []effect{{kind: history.EffectPersist, key: key}}
		}
	case "DEL", "UNLINK", "GETDEL":
		if changed {
			return []effect{{kind: history.EffectDelete, key: key}}
		}
	}
	return nil
}

// onlyIfFree says whether a SET has NX.
func onlyIfFree(args []history.Bytes) bool {
	return len(args) > 3 && slices.ContainsFunc(args[3:], func(a history.Bytes) bool { return strings.EqualFold(string(a), "NX") })
}

// setTTL is the life that a SET gives its key.
func setTTL(args []history.Bytes) time.Duration {
	for i := 3; i+1 < len(args); i++ {
		switch strings.ToUpper(string(args[i])) {
		case "EX":
			return duration(args, i+1, time.Second)
		case "PX":
			return duration(args, i+1, time.Millisecond)
		}
	}
	return 0
}

func duration(args []history.Bytes, i int, unit time.Duration) time.Duration {
	if i >= len(args) {
		return 0
	}
	n, err := strconv.ParseInt(string(args[i]), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * unit
}

// scriptEffects reads the recipe's declaration of the script that was called.
func scriptEffects(name string, c history.Command, scripts []history.Script) []effect {
	if len(c.Args) < 3 {
		return nil
	}
	sum := strings.ToLower(string(c.Args[1]))
	if name == "EVAL" {
		h := sha1.Sum([]byte(c.Args[1]))
		sum = hex.EncodeToString(h[:])
	}
	i := slices.IndexFunc(scripts, func(s history.Script) bool { return s.SHA1 == sum })
	n, err := strconv.Atoi(string(c.Args[2]))
	if i < 0 || err != nil || n < 0 || 3+n > len(c.Args) {
		return nil
	}
	declared, ok := scripts[i].Effects[string(c.Reply)]
	if !ok {
		declared = scripts[i].Effects["*"]
	}
	keys, argv := c.Args[3:3+n], c.Args[3+n:]
	var out []effect
	for _, d := range declared {
		if d.Key < 0 || d.Key >= len(keys) {
			continue
		}
		f := effect{kind: d.Kind, key: string(keys[d.Key]), field: d.Field}
		if d.TTLArg > 0 {
			f.ttl = duration(argv, d.TTLArg-1, d.TTLUnit)
		}
		out = append(out, f)
	}
	return out
}

// scriptName is the declared name of the script that a command called, "" for
// any other command.
func scriptName(c history.Command, scripts []history.Script) string {
	if len(c.Args) < 2 {
		return ""
	}
	sum := string(c.Args[1])
	switch strings.ToUpper(string(c.Args[0])) {
	case "EVAL":
		h := sha1.Sum([]byte(sum))
		sum = hex.EncodeToString(h[:])
	case "EVALSHA":
		sum = strings.ToLower(sum)
	default:
		return ""
	}
	for _, s := range scripts {
		if s.SHA1 == sum {
			return s.Name
		}
	}
	return ""
}
