// The differential test runs scripts of commands on a simulated node and on a real
// redis-server, at the same instants. Both must give the same replies.
package node_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// fidelityDoc is the document that lists the known differences for users.
const fidelityDoc = "../../../docs/fidelity.md"

// defaultChecks is the number of scripts of commands that each part draws without
// -rapid.checks.
const defaultChecks = "60"

// defaultSeed makes all runs without -rapid.seed draw the same scripts of commands, so that an
// unrelated change does not uncover a new difference. With -rapid.seed=0 each run draws
// different scripts.
const defaultSeed = "20260101"

func check(t *testing.T, d *duel, total *coverage, fragments ...fragment) {
	t.Helper()
	scripts := scriptOf(fragments...)
	rapid.Check(t, func(t *rapid.T) {
		steps := scripts.Draw(t, "steps")
		if err := d.run(steps, total); err != nil {
			t.Fatalf("%v\nin the script\n%s", err, transcript(steps))
		}
	})
}

// setDefaults sets rapid's seed and number of checks, unless the command line sets them.
func setDefaults(t *testing.T) {
	t.Helper()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.seed": defaultSeed, "rapid.checks": defaultChecks} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

func runEach(t *testing.T, d *duel, total *coverage, scripts ...[]step) {
	t.Helper()
	for _, steps := range scripts {
		if err := d.run(steps, total); err != nil {
			t.Errorf("%v\nin the script\n%s\n", err, transcript(steps))
		}
	}
}

func TestSimulatedNodeAnswersAsRedis(t *testing.T) {
	setDefaults(t)
	sent := recordRecipes(t)
	if t.Failed() {
		t.FailNow()
	}
	d, total := newDuel(t), newCoverage()
	scripts := slices.SortedFunc(maps.Values(sent.scripts), func(a, b *script) int { return strings.Compare(a.sha1, b.sha1) })
	d.scripts = map[string]string{}
	for _, s := range scripts {
		d.scripts[s.sha1], d.scripts[s.source] = s.name, s.name
	}
	recipes := recipeScript(scripts)
	parts := []struct {
		name      string
		fragments []fragment
	}{
		{"plain commands", []fragment{single}},
		{"other types", []fragment{typed}},
		{"transactions", []fragment{single, transaction, transaction}},
		{"subscriptions", []fragment{single, subscription, subscription}},
		{"recipes' scripts", []fragment{single, recipes, recipes, recipes}},
		{"scripts", []fragment{single, luaCall, luaCall}},
		{"short lives", []fragment{single, short, short, recipes}},
		{"replica", []fragment{single, replica, replica, recipes, luaCall}},
		{"RESP3", []fragment{single, hello3, subscription, transaction, luaCall}},
		{"tracking", []fragment{tracking}},
	}
	ran := 0
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { ran++; check(t, d, total, p.fragments...) })
	}
	t.Run("every command", func(t *testing.T) { ran++; runEach(t, d, total, everyCommand()...) })
	t.Run("every recipe's script", func(t *testing.T) { ran++; runEach(t, d, total, everyRecipeScript(scripts)...) })
	t.Run("every script", func(t *testing.T) { ran++; runEach(t, d, total, everyLua()...) })
	t.Run("every session", func(t *testing.T) { ran++; runEach(t, d, total, everySession()...) })
	t.Run("edges", func(t *testing.T) { ran++; edges(t, d, total) })
	t.Log(total)
	if ran == len(parts)+5 { // not if -run selected only some parts
		covered(t, total, sent)
	}
}

// covered fails the test for each command, option and recipe's script for which no successful
// reply was compared.
func covered(t *testing.T, total *coverage, sent *sent) {
	for _, name := range total.missing(declared()) {
		t.Errorf("%s was never compared with success", name)
	}
	for _, name := range slices.Sorted(maps.Keys(sent.commands)) {
		if _, ok := elsewhere[name]; !ok && len(total.missing([]string{name})) > 0 {
			t.Errorf("%s, which recipes send, was never compared", name)
		}
	}
	for _, s := range sent.scripts {
		if len(total.missing([]string{"EVAL " + s.name})) > 0 || len(total.missing([]string{"EVALSHA " + s.name})) > 0 {
			t.Errorf("script %s was never compared by EVAL and by EVALSHA", s.name)
		}
	}
}

func TestEveryCommandOfTheNodeIsComparedOrNamed(t *testing.T) {
	known := slices.Concat(names, otherNames, inFragments, notCompared, ofClusters(), slices.Collect(maps.Keys(elsewhere)))
	for _, name := range node.CommandNames() {
		if !slices.ContainsFunc(known, func(k string) bool { return k == name || strings.HasPrefix(k, name+" ") }) {
			t.Errorf("the node knows %s, which no test compares", name)
		}
	}
}

func TestListedDifferencesAreThere(t *testing.T) {
	d := newDuel(t)
	for _, e := range exceptions {
		t.Run(e.ID, func(t *testing.T) {
			total := newCoverage()
			for try := 0; try < 5 && total.exceptions[e.ID] == 0; try++ { // several tries, since Redis may delete expired keys at any time
				if err := d.run(e.Example, total); err != nil {
					t.Fatal(err)
				}
			}
			if total.exceptions[e.ID] == 0 {
				t.Errorf("its example shows no difference: remove it from the list\n%s", transcript(e.Example))
			}
		})
	}
}

func TestDocumentListsTheDifferences(t *testing.T) {
	doc, err := os.ReadFile(fidelityDoc)
	if err != nil {
		t.Fatal(err)
	}
	if want := exceptionsTable(); !strings.Contains(string(doc), want) {
		t.Errorf("%s does not hold the table of listed differences, which is\n%s", fidelityDoc, want)
	}
}

// edgeTries is the minimum number of tries for each command and each distance to the deadline.
const edgeTries = 4

// edges runs commands on a key in the millisecond before its deadline, in the millisecond of
// the deadline, and in the next millisecond. In Redis a key exists until the end of its
// deadline's millisecond.
func edges(t *testing.T, d *duel, total *coverage) {
	looks := [][]string{
		{"GET", "k1"}, {"PTTL", "k1"}, {"TTL", "k1"}, {"EXISTS", "k1"}, {"SET", "k1", "t2", "NX"}, {"SETNX", "k1", "t2"}, {"DEL", "k1"}, {"PERSIST", "k1"},
		{"EVAL", `return {redis.call("GET", KEYS[1]), redis.call("PTTL", KEYS[1])}`, "1", "k1"},
		{"EVAL", `return redis.call("SET", KEYS[1], ARGV[1], "NX")`, "1", "k1", "t2"},
		{"INCR", "k1"}, {"PEXPIRE", "k1", "5"}, {"GETSET", "k1", "t3"}, {"TYPE", "k1"},
	}
	for _, look := range looks {
		seen := map[int64]bool{}
		for left := int64(-1); left <= 1; left++ {
			for try := 0; try < attempts && (try < edgeTries || !seen[left]); try++ {
				if err := d.edge(look, left, total, seen); err != nil {
					t.Fatalf("%v, %d ms before the deadline: %v", look, left, err)
				}
			}
			if !seen[left] {
				t.Errorf("%v was not compared %d ms before the deadline", look, left)
			}
		}
	}
}

// edge sets a key with a deadline and runs the command look on the key, if possible exactly left
// milliseconds before the deadline. It notes in seen how many milliseconds before the deadline the
// command really ran.
func (d *duel) edge(look []string, left int64, total *coverage, seen map[int64]bool) error {
	for range attempts {
		d.count = newCoverage()
		if err := d.reset(); err != nil {
			return err
		}
		deadline := d.now.UnixMilli() + 3
		steps := []step{{args: []string{"SET", "k1", "7", "PXAT", fmt.Sprint(deadline)}}, {args: look}}
		err := d.step(steps[0])
		for time.Now().UnixMilli() < deadline-left {
		}
		if err == nil {
			err = d.step(steps[1])
		}
		at := d.now.UnixMilli()
		if err == nil {
			err = d.finish()
		}
		if errors.Is(err, errStraddled) {
			continue
		}
		if err == nil {
			seen[deadline-at] = true
			total.add(d.count)
		}
		return err
	}
	return errStraddled
}
