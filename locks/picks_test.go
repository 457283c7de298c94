package locks_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

func TestPicksDeclareNoBugs(t *testing.T) {
	for _, p := range locks.Picks() {
		r, ok := locks.ByID(p.ID)
		if !ok {
			t.Errorf("no recipe is named %s", p.ID)
		}
		for _, f := range r.Flaws {
			if f.Kind == locks.Bug {
				t.Errorf("%s declares a bug: %s by %s", p.ID, f.Oracle, f.Cause)
			}
		}
	}
}

func TestReadmeHasThePicks(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "| you have | pick | left |\n|---|---|---|\n")
	if !ok {
		t.Fatal("the README has no table of picks")
	}
	table, _, _ := strings.Cut(section, "\n\n")
	var want []string
	for _, p := range locks.Picks() {
		want = append(want, fmt.Sprintf("| %s | `%s` | %s |", p.Have, p.ID, p.Left))
	}
	if got := strings.Split(table, "\n"); !slices.Equal(got, want) {
		t.Errorf("the README's table differs\ngot\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPicksAreOfTheSameKind(t *testing.T) {
	for _, c := range []struct {
		id       string
		claims   history.Claims
		topology locks.Topology
		want     []string
	}{
		{"setnx", history.Claims{}, locks.Single, []string{"fenced", "set-nx-px-wait"}},
		{"fenced", history.Claims{Fenced: true}, locks.Single, []string{"set-nx-px-wait"}},
		{"redlock", history.Claims{}, locks.Independent, []string{"redlock-drift", "redlock-delayed-restart"}},
		{"rw-hash", history.Claims{ReadWrite: true}, locks.Single, []string{"rw-hash-owners"}},
		{"rw-hash-owners", history.Claims{ReadWrite: true}, locks.Single, nil},
	} {
		var got []string
		for _, p := range locks.PicksLike(c.id, c.claims, c.topology) {
			got = append(got, p.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.id, got, c.want)
		}
	}
}
