package node_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// onRecord is a watched node, and the witness to which it reports changes.
type onRecord struct {
	*node.Node
	t       rapid.TB
	s       *node.Session
	now     time.Duration                  // the present time on the history's clock
	skew    time.Duration                  // the lead of the node's clock
	have    map[string]*history.KeyContent // the node's contents according to the reports
	changes []history.KeyChange            // changes reported during the last step
}

var recordEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newOnRecord(t rapid.TB, n *node.Node) *onRecord {
	n.Reset()
	r := &onRecord{Node: n, t: t, now: time.Second, have: map[string]*history.KeyContent{}}
	n.Watch(r)
	r.s = n.Connect()
	return r
}

func (r *onRecord) wall() time.Time { return recordEpoch.Add(r.now + r.skew) }

// Ends implements node.Witness.
func (r *onRecord) Ends(deadline time.Time) time.Duration { return deadline.Sub(recordEpoch) - r.skew }

// Changed implements node.Witness. It checks that each change starts from the content that the
// previous change of the key left.
func (r *onRecord) Changed(key string, by history.ChangedBy, before, after *history.KeyContent) {
	if was := r.have[key]; !was.Same(before) {
		r.t.Errorf("%q by %s: it found %+v, and was left as %+v", key, by, before, was)
	}
	if before.Same(after) {
		r.t.Errorf("%q by %s: nothing changed: %+v", key, by, after)
	}
	r.changes = append(r.changes, history.KeyChange{Key: history.Bytes(key), By: by, Before: before, After: after})
	if r.have[key] = after; after == nil {
		delete(r.have, key)
	}
}

// step calls do, and stores the changes that the node reports meanwhile. Changes with one cause must be in the
// order of their keys.
func (r *onRecord) step(do func()) {
	r.changes = nil
	do()
	for i, c := range r.changes {
		if i > 0 && r.changes[i-1].By == c.By && r.changes[i-1].Key >= c.Key {
			r.t.Errorf("%q was told after %q", c.Key, r.changes[i-1].Key)
		}
	}
}

// complete checks that the reported changes add up to the node's contents.
func (r *onRecord) complete(after string) {
	got := r.Contents()
	if !maps.EqualFunc(r.have, got, (*history.KeyContent).Same) {
		r.t.Fatalf("after %q the node has\n%s\nand told\n%s", after, shown(got), shown(r.have))
	}
}

func shown(all map[string]*history.KeyContent) string {
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := history.KeyChange{Key: history.Bytes(key), After: all[key]}
		b = append(c.AppendJSON(b), '\n')
	}
	return string(b)
}

// uncompared holds commands that arguments and others lack: commands that no test compares with
// Redis, transactions, and scripts with several writes.
var uncompared = map[string]gen{
	"SETBIT":      all(key, from([]string{"0", "9"}), from([]string{"0", "1"})),
	"BITOP":       all(word("OR"), key, key, key),
	"LINSERT":     all(list, word("BEFORE"), element, element),
	"LMPOP":       all(word("2"), list, list, word("LEFT")),
	"SMOVE":       all(set, set, element),
	"SPOP":        all(set, oneOf(none, from([]string{"0", "1", "5"}))),
	"SINTERSTORE": all(set, set, set),
	"SDIFFSTORE":  all(set, set, set),
	"SUNIONSTORE": all(set, set, set),
	"ZMPOP":       all(word("2"), zset, zset, word("MIN")),
	"MULTI":       none, "EXEC": none, "DISCARD": none, "WATCH": key,
	"EVAL": all(from([]string{`
redis.call("SET", KEYS[1], ARGV[1], "PX", 50000)
redis.pcall("RENAME", KEYS[2], KEYS[1])
redis.pcall("HSET", KEYS[2], ARGV[1], ARGV[2])
return redis.call("LPUSH", KEYS[3], ARGV[1])`, `return redis.call("DEL", unpack(KEYS))`}), word("3"), key, key, list, value1, value1),
}

// drawn draws one of the commands. Its times are relative to the node's present time.
func (r *onRecord) drawn(t *rapid.T, commands []string) []string {
	name := rapid.SampledFrom(commands).Draw(t, "command")
	g := uncompared[name]
	if g == nil {
		return r.resolved(commandOf(t, name))
	}
	return append([]string{name}, g(t)...)
}

// resolved replaces arguments such as "@ms+5" and "@s-1" by instants, relative to the node's
// present time.
func (r *onRecord) resolved(args []string) []string {
	for i, a := range args {
		for prefix, now := range map[string]int64{"@ms": r.wall().UnixMilli(), "@s": r.wall().Unix()} {
			if offset, found := strings.CutPrefix(a, prefix); found {
				n, _ := strconv.ParseInt(offset, 10, 64)
				args[i] = strconv.FormatInt(now+n, 10)
			}
		}
	}
	return args
}

// After random commands, clock jumps, evictions, restarts and times as a replica, the reported
// changes must add up to the node's keys, and each change must have the right cause.
func TestWhatIsToldIsWhatTheNodeHas(t *testing.T) {
	setDefaults(t)
	n, err := node.New()
	if err != nil {
		t.Fatal(err)
	}
	commands := slices.Sorted(maps.Keys(uncompared))
	for _, table := range []map[string]gen{arguments, others} {
		commands = append(commands, slices.Sorted(maps.Keys(table))...)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := newOnRecord(t, n)
		disk := node.Snapshot{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			r.now += time.Duration(rapid.IntRange(0, 20_000_000_000).Draw(t, "wait"))
			what := rapid.IntRange(0, 30).Draw(t, "what")
			switch what {
			case 0:
				r.skew = time.Duration(rapid.IntRange(-100, 100).Draw(t, "skew")) * 777 * time.Millisecond
				r.only(r.ClockSet, history.ByClock)
			case 1:
				r.only(func() { r.Expire(r.wall()) }, history.ByExpiry)
			case 2:
				r.only(func() { r.Evict(r.wall()) }, history.ByExpiry, history.ByEviction)
			case 3:
				r.only(func() { disk = r.Snapshot(r.wall()) }, history.ByExpiry)
			case 4:
				r.only(func() { r.Reload(r.wall(), disk, true) }, history.ByRestart, history.ByExpiry)
			case 5:
				r.only(func() { r.SetReadOnly(true); r.Load(r.wall(), disk) })
				r.only(func() { r.SetReadOnly(false) }, history.ByPromotion)
			default:
				args := r.drawn(t, commands)
				r.only(func() { r.s.Exec(r.wall(), args) }, history.ByExpiry, history.ByCommand)
			}
			r.complete(strconv.Itoa(what))
		}
	})
}

// only calls do, and checks that every change that the node reports meanwhile has one of these causes, and that the
// causes come in this order. A change by the clock to a key that was not there before does not count.
func (r *onRecord) only(do func(), by ...history.ChangedBy) {
	r.step(do)
	last := 0
	for _, c := range r.changes {
		if c.By == history.ByClock && c.Before == nil {
			continue // a replica had hidden the expired key; now the clock has gone back
		}
		i := slices.Index(by, c.By)
		if i < last {
			r.t.Fatalf("%q changed by %s, want %v in this order", c.Key, c.By, by)
		}
		last = i
		if c.By == history.ByExpiry && (c.After != nil || c.Before.Expires == 0 || c.Before.Expires > max(r.now, 1)) {
			r.t.Fatalf("%q expired at %v: before %+v, after %+v", c.Key, r.now, c.Before, c.After)
		}
		if c.By == history.ByClock && !c.Before.SameValue(c.After) {
			r.t.Fatalf("a clock changed %q from %+v to %+v", c.Key, c.Before, c.After)
		}
	}
}

// TestContentsAreWrittenAsRedisWritesThem checks the contents of keys of each type. Their parts
// have a fixed order, and expiry times are on the history's clock.
func TestContentsAreWrittenAsRedisWritesThem(t *testing.T) {
	n, err := node.New()
	if err != nil {
		t.Fatal(err)
	}
	r := newOnRecord(t, n)
	r.skew = 300 * time.Millisecond
	for _, args := range [][]string{
		{"SET", "string", "v", "PX", "100"},
		{"HSET", "hash", "b", "2", "a", "1"},
		{"RPUSH", "list", "y", "x", "y"},
		{"SADD", "set", "n", "m"},
		{"ZADD", "zset", "1.5", "b", "1700000000000", "a", "inf", "c"},
	} {
		r.step(func() { r.s.Exec(r.wall(), args) })
	}
	const want = `{"index":0,"node":"","key":"hash","by":"","from":0,"to":0,"after":{"type":"hash","fields":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}}
{"index":0,"node":"","key":"list","by":"","from":0,"to":0,"after":{"type":"list","members":["y","x","y"]}}
{"index":0,"node":"","key":"set","by":"","from":0,"to":0,"after":{"type":"set","members":["m","n"]}}
{"index":0,"node":"","key":"string","by":"","from":0,"to":0,"after":{"type":"string","value":"v","expires":1100000000}}
{"index":0,"node":"","key":"zset","by":"","from":0,"to":0,"after":{"type":"zset","fields":[{"name":"a","value":"1700000000000"},{"name":"b","value":"1.5"},{"name":"c","value":"inf"}]}}
`
	if got := shown(r.have); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
