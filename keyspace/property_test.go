package keyspace

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// forms lists the commands from which anyTale draws; each %s stands for a value.
var forms = []string{
	"SET lock %s NX PX 100", "SET lock %s", "SET lock %s XX KEEPTTL", "SETNX lock %s", "GETSET lock %s", "GET lock", "DEL lock", "PEXPIRE lock 150",
	"PERSIST lock", "INCR lock", "DECR lock", "MSET lock %s other %s", "RENAME lock other",
	"HSET hash %s %s", "HDEL hash %s", "HINCRBY hash %s 1", "HINCRBY hash %s -1", "PEXPIRE hash 100", "DEL hash lock",
	"RPUSH list %s", "LPOP list", "SADD set %s", "SREM set %s", "ZADD zset %s %s", "ZREM zset %s", "FLUSHALL",
	"EVAL redis.call('DEL',KEYS[1])return(redis.call('SADD',KEYS[1],ARGV[1])) 1 lock %s",
}

// anyTale draws a random tale in the form that enact reads (see play).
func anyTale(t *rapid.T) string {
	var b strings.Builder
	now, parted := 10, false
	for range rapid.IntRange(1, 30).Draw(t, "lines") {
		now += rapid.SampledFrom([]int{1, 1, 10, 60, 200}).Draw(t, "later")
		value := rapid.SampledFrom([]string{"1", "2", "7", "100"})
		command := rapid.SampledFrom(forms).Draw(t, "command")
		for strings.Contains(command, "%s") {
			command = strings.Replace(command, "%s", value.Draw(t, "value"), 1)
		}
		who := rapid.SampledFrom([]string{"c0+", "c1+", "c2+", "c0?", "c1?", "c0-", "c1-", "c0", "c2", "stranger", "unknown", "event"}).Draw(t, "who")
		if who == "event" {
			who = ""
			kept := rapid.IntRange(0, 20).Draw(t, "kept")
			command = rapid.SampledFrom([]string{"evict", "clock 70", "clock -70", "clock 0", fmt.Sprint("restart ", kept), fmt.Sprint("split n1 ", kept)}).Draw(t, "event")
			if strings.HasPrefix(command, "split") {
				if parted {
					continue
				}
				parted = true
			}
		} else if parted && rapid.Bool().Draw(t, "there") {
			who = "n1:" + who
		}
		fmt.Fprintln(&b, now, who, command)
	}
	return b.String()
}

// contents returns what each node's keys contain at the end.
func contents(e history.Evidence) map[[2]string]*history.KeyContent {
	end := e.Ops[len(e.Ops)-1].Time
	all := map[[2]string]*history.KeyContent{}
	for _, c := range e.Keys {
		all[[2]string{c.Node, string(c.Key)}] = c.After
	}
	for at, k := range all {
		if k == nil || k.Expires > 0 && k.Expires < end {
			delete(all, at)
		}
	}
	return all
}

func TestGrantsStandWhereTheNodesHaveSomething(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tale := anyTale(rt)
		e := enact(t, tale)
		type where struct{ node, key, place string }
		standing := map[where]*Grant{}
		for _, g := range Read(e).Grants {
			if g.End == nil && g.Over == nil {
				standing[where{g.Node, g.Key, g.Place}] = g
			}
		}
		for at, k := range contents(e) {
			for _, s := range Spots(k) {
				there := where{at[0], at[1], s.Name}
				if g := standing[there]; g == nil {
					if _, err := strconv.Atoi(s.Value); err != nil { // all shares of a count may have been given back
						rt.Fatalf("%s\nnobody has what is at %v: %q", tale, there, s.Value)
					}
				} else if g.Value != s.Value && !g.Wrote(s.Value) {
					rt.Fatalf("%s\n%s, but %q is there", tale, grantLine(e, g), s.Value)
				}
				delete(standing, there)
			}
		}
		for at, g := range standing {
			rt.Fatalf("%s\nnothing is at %v, but: %s", tale, at, grantLine(e, g))
		}
	})
}

func TestGrantsEndAfterTheyBegin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tale := anyTale(rt)
		e := enact(t, tale)
		k := Read(e)
		for i, g := range k.Grants {
			switch {
			case g.TermCount() == 0:
				rt.Fatalf("%s\n%s has no life", tale, grantLine(e, g))
			case g.Seq < 1 || g.Seq > k.Last:
				rt.Fatalf("%s\n%s is number %d of %d", tale, grantLine(e, g), g.Seq, k.Last)
			case i > 0 && !g.Copied && !k.Grants[i-1].Copied && g.Seq <= k.Grants[i-1].Seq:
				rt.Fatalf("%s\n%s is number %d, after %d", tale, grantLine(e, g), g.Seq, k.Grants[i-1].Seq)
			case g.End != nil && g.End.How == Expired && !g.Last().Mortal:
				rt.Fatalf("%s\n%s expired without a life", tale, grantLine(e, g))
			case g.End != nil && (g.End.Seq <= g.Seq || g.End.At.Hi < g.At.Lo):
				rt.Fatalf("%s\n%s ends before it begins", tale, grantLine(e, g))
			case g.Over != nil && (g.OverSeq <= g.Seq || g.Over.Place != g.Place || g.Over.Key != g.Key || g.Over.Node != g.Node):
				rt.Fatalf("%s\n%s is under what is not over it", tale, grantLine(e, g))
			}
			for j := 1; j < g.TermCount(); j++ {
				if g.Term(j).At.Lo < g.Term(j-1).At.Lo {
					rt.Fatalf("%s\n%s got lives in no order", tale, grantLine(e, g))
				}
			}
		}
	})
}

func TestReadingTwiceIsReadingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tale := anyTale(rt)
		e, untouched := enact(t, tale), enact(t, tale)
		first := Read(e)
		if !reflect.DeepEqual(e, untouched) {
			rt.Fatalf("%s\nthe evidence was changed", tale)
		}
		if !reflect.DeepEqual(first, Read(e)) {
			rt.Fatalf("%s\nread twice, it is not the same", tale)
		}
	})
}

// If the time of a change is known only within bounds, Read finds the same grants. Only
// their times differ.
func TestBlurredChangesMakeTheSameGrants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tale := anyTale(rt)
		sharp, blurred := enact(t, tale), enact(t, tale)
		for i := range blurred.Keys {
			blurred.Keys[i].To += 100 * time.Microsecond
		}
		end := sharp.Ops[len(sharp.Ops)-1].Time
		a, b := Read(sharp).Grants, Read(blurred).Grants
		if len(a) != len(b) {
			rt.Fatalf("%s\n%d grants, and %d if blurred", tale, len(a), len(b))
		}
		for i := range a {
			if t := b[i].Last(); t.Mortal && t.Expiry.Lo < end && end <= t.Expiry.Hi {
				continue // the grant may have expired when the history ended
			}
			same := a[i].Client == b[i].Client && a[i].Value == b[i].Value && a[i].Place == b[i].Place && a[i].TermCount() == b[i].TermCount()
			if same = same && (a[i].End == nil) == (b[i].End == nil) && (a[i].End == nil || a[i].End.How == b[i].End.How); !same {
				rt.Fatalf("%s\n%s\nblurred: %s", tale, grantLine(sharp, a[i]), grantLine(blurred, b[i]))
			}
		}
	})
}
