package checker

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// act is one thing that a command did to one key.
type act struct {
	kind history.EffectKind
	key  string
	// field of a hash that alone was concerned; "" = the whole key. For a script
	// it is ownField: whose field is the reader's business.
	field string
	// value that a set wrote. Two sets of one value cannot be told apart in Redis.
	value string
	// stamps are the arguments that may identify whose claim is set or deleted.
	stamps []string
	// ttl is the life given; 0 of a set = none, unless keep.
	ttl time.Duration
	// own is the life that a set gives to the field alone; 0 = it lives as the key.
	own time.Duration
	// keep: the set leaves the key's life as it was.
	keep bool
	// sometime: a life was given, but not one that can be told on the history's clock.
	sometime bool
	// ifAbsent: the set does nothing to a key that is there.
	ifAbsent bool
	// ifPresent: the set does nothing where no key is.
	ifPresent bool
	// plain: that there is a key, or none, is all that it may depend on.
	plain bool
	// conditional: a deletion that depends on more than that: EXPIRE with NX, XX, GT or LT.
	conditional bool
}

// ownField marks the field of whoever ran the script.
const ownField = "\x00own"

// sight is what a reply tells of a key as it was before the command.
type sight struct {
	key     string
	present bool
	// value is the string that it held, if the reply shows it.
	value *string
}

// outcome is what one command did, as far as its reply and the recipe's
// declarations tell.
type outcome struct {
	keys   []string
	acts   []act
	sights []sight
	// possible: the command may have run or not, so that acts are only possible.
	possible bool
	// opaque: nobody can say what it did to its keys.
	opaque bool
}

// readCommand says what c did, given that it reached its node. A reply that is
// an error means that nothing happened.
func readCommand(c history.Command, scripts map[string]history.Script) outcome {
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = string(a)
	}
	if len(args) == 0 {
		return outcome{}
	}
	name, reply := strings.ToUpper(args[0]), string(c.Reply)
	switch name {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		return readScript(name, args, reply, scripts)
	}
	if slices.Contains(quietCommands, name) {
		return outcome{}
	}
	read, ok := commandReaders[name]
	switch {
	case IsError(reply):
		return outcome{}
	case !ok:
		return outcome{keys: args[1:], opaque: true}
	case len(args) < 2:
		return outcome{}
	}
	o := read(args, reply)
	if reply == "QUEUED" { // in a transaction whose end nobody reads
		return outcome{keys: o.keys, opaque: true}
	}
	if reply == "" {
		o.possible, o.sights = true, nil
	}
	return o
}

// elsewhere says whether a node of a Redis Cluster refused a command because of
// the slots of its keys, or of the state of the cluster: whether a key was there it
// does not say.
func elsewhere(reply string) bool {
	kind, _, _ := strings.Cut(reply, " ")
	return IsError(reply) && slices.Contains([]string{"MOVED", "ASK", "TRYAGAIN", crossSlot, "CLUSTERDOWN"}, kind)
}

// crossSlot is how a node refuses a command whose keys are in different slots.
const crossSlot = "CROSSSLOT"

// IsError tells an error reply, which begins with its kind in capitals, from a
// status like OK.
func IsError(reply string) bool {
	kind, rest, found := strings.Cut(strings.TrimPrefix(reply, "-"), " ")
	if !found || rest == "" || kind == "" {
		return false
	}
	return strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// readScript reads EVAL and EVALSHA by the recipe's declarations.
func readScript(name string, args []string, reply string, scripts map[string]history.Script) outcome {
	if len(args) < 3 {
		return outcome{}
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 || strings.HasPrefix(reply, "NOSCRIPT ") || elsewhere(reply) {
		return outcome{} // the node refused it
	}
	keys, argv := args[3:3+n], args[3+n:]
	script, declared := scripts[digestOf(name, args[1])]
	o := outcome{keys: keys}
	if !declared {
		o.opaque = !IsError(reply) || diedHalfway(reply)
		return o
	}
	effects, listed := script.Effects[reply]
	switch {
	case listed:
	case reply == "":
		o.possible = true
		for _, r := range slices.Sorted(maps.Keys(script.Effects)) {
			effects = append(effects, script.Effects[r]...)
		}
	case IsError(reply):
		o.opaque = diedHalfway(reply)
	default:
		effects = script.Effects["*"]
	}
	for _, effect := range effects {
		o.add(effect, argv)
	}
	return o
}

// digestOf is the SHA-1 by which a script is declared: EVALSHA names it, EVAL
// carries the source.
func digestOf(name, script string) string {
	if strings.HasPrefix(strings.ToUpper(name), "EVALSHA") {
		return strings.ToLower(script)
	}
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// diedHalfway tells an error of a running script, which may have done some of
// its work, from one that kept it from running.
func diedHalfway(reply string) bool {
	return strings.Contains(reply, "user_script") || strings.Contains(reply, "running script")
}

// add appends what a declared effect with these arguments did.
func (o *outcome) add(effect history.Effect, argv []string) {
	if effect.Key < 0 || effect.Key >= len(o.keys) {
		o.opaque = true
		return
	}
	if effect.Kind == history.EffectSeen {
		if !o.possible {
			o.sights = append(o.sights, sight{key: o.keys[effect.Key], present: true})
		}
		return
	}
	a := act{kind: effect.Kind, key: o.keys[effect.Key], value: strings.Join(argv, "\x00"), stamps: identifying(argv)}
	if effect.Field {
		a.field, a.keep = ownField, true
		if i := effect.FieldArg; 0 < i && i <= len(argv) {
			a.field = argv[i-1]
		}
	}
	switch {
	case effect.TTLArg > 0 && effect.Field && effect.Kind == history.EffectSet:
		a.own, _ = readLife(argv, effect.TTLArg-1, effect.TTLUnit)
	case effect.TTLArg > 0:
		a.ttl, a.sometime = readLife(argv, effect.TTLArg-1, effect.TTLUnit)
		a.keep = false
	case effect.Kind == history.EffectSet:
		a.keep = true // a script sets lives by effects of their own
	}
	o.acts = append(o.acts, a)
	if !o.possible && (effect.Kind == history.EffectExpire || effect.Kind == history.EffectDelete) && !effect.Field {
		if !slices.ContainsFunc(o.acts, func(b act) bool { return b.key == a.key && b.kind == history.EffectSet }) {
			o.sights = append(o.sights, sight{key: a.key, present: true})
		}
	}
}

// identifying leaves out what is too short to tell one claim from another:
// counts and lives.
func identifying(argv []string) []string {
	return slices.DeleteFunc(slices.Clone(argv), func(s string) bool {
		return len(s) < 10 && strings.Trim(s, "0123456789") == ""
	})
}
