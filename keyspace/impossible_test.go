package keyspace

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// bys lists everything that can change a key, plus an empty value that is invalid.
var bys = []history.ChangedBy{
	history.ByCommand, history.ByExpiry, history.ByEviction, history.ByRestart, history.ByPromotion, history.ByReplication,
	history.ByMigration, history.ByClock, history.ByStranger, history.ByUnknown, "",
}

// spoil changes evidence at random. Then changes of keys may no longer follow from each other or from
// commands, and their times may be out of order.
func spoil(t *rapid.T, e history.Evidence) history.Evidence {
	e.Keys, e.Commands = slices.Clone(e.Keys), slices.Clone(e.Commands)
	any := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
	for range any("times", 12) {
		if len(e.Keys) == 0 {
			break
		}
		i := any("which", len(e.Keys))
		c, other := &e.Keys[i], e.Keys[any("other", len(e.Keys))]
		switch any("how", 10) {
		case 0:
			e.Keys = slices.Delete(e.Keys, i, i+1)
		case 1:
			e.Keys = slices.Insert(e.Keys, i, other)
		case 2:
			c.By = rapid.SampledFrom(bys).Draw(t, "by")
		case 3:
			c.Exec = any("exec", 30) - 1
		case 4:
			c.From, c.To = time.Duration(rapid.Int64().Draw(t, "from")), time.Duration(rapid.Int64().Draw(t, "to"))
		case 5:
			c.Before = other.After
		case 6:
			c.After = other.Before
		case 7:
			c.Node, c.Key = other.Node, other.Key
		case 8:
			if c.After != nil {
				k := *c.After
				k.Expires = time.Duration(rapid.Int64().Draw(t, "expires"))
				c.After = &k
			}
		default:
			if len(e.Commands) > 0 {
				x := &e.Commands[any("command", len(e.Commands))]
				x.Exec, x.Op, x.Args = any("exec", 30)-1, any("op", 40)-1, x.Args[:any("args", len(x.Args)+1)]
			}
		}
	}
	return e
}

func TestNoEvidenceBringsTheReaderDown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := spoil(rt, enact(t, anyTale(rt)))
		k := Read(e)
		if !reflect.DeepEqual(k, Read(e)) {
			rt.Fatal("read twice, it is not the same")
		}
		for _, g := range k.Grants {
			if g.TermCount() == 0 || g.End != nil && g.End.Seq <= 0 || g.Over != nil && g.OverSeq <= 0 {
				rt.Fatalf("half a grant: %+v", g)
			}
		}
	})
}

// If no keys were observed, Read finds no grants, whatever commands ran.
func TestNothingIsReadWhereNothingWasSeen(t *testing.T) {
	e := enact(t, "10 c0+ SET lock a\n20 c1? SET lock b NX\n30 c0- DEL lock")
	e.Keys, e.Watched = nil, false
	k := Read(e)
	if len(k.Grants) > 0 || len(k.Strikes) > 0 || len(k.Contacts) > 0 {
		t.Errorf("got %+v, want nothing", k)
	}
	if node, blind := k.Blind(); !blind || node != "" {
		t.Errorf("got %q, %t, want that nothing is on record", node, blind)
	}
}
