package testbedtest

import (
	"errors"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// failedMove checks a move that fails, because the new master refuses the keys or because the
// report of the move fails: each slot must then be where its keys are.
func failedMove(s suite) {
	for name, refused := range map[string]bool{"keys refused": true, "not told": false} {
		s.Run(name, func(t *testing.T) {
			commands := suite{t, s.open}.calm(clustered, func(w *testEnv, _ *election) {
				w.put(0, first, "1")
				if refused {
					n1, err := w.shared(0).MasterForKey(w.ctx, second)
					w.must(err)
					w.must(n1.Do(w.ctx, "ACL", "SETUSER", "default", "-restore-asking").Err())
				}
				told := 0
				_, err := w.Env.(testbed.Slots).Migrate(w.ctx, "n0", "n1", func(string, string, []history.KeyState) error {
					told++
					return errors.New("cannot be told")
				})
				if err == nil || refused != (told == 0) {
					w.Errorf("got %v, told %d times, want an error, and nothing told that is not so", err, told)
				}
				w.gets(0, first, "1")
				w.gets(1, second, "")
				w.must(w.shared(0).Del(w.ctx, first).Err())
				w.gets(1, first, "") // without redirection
			})
			want := map[bool]string{true: "n0", false: "n1"}[refused]
			if got := ran(commands, "DEL"); len(got) != 1 || got[0] != want {
				t.Errorf("DEL ran on %v, want %s", got, want)
			}
		})
	}
}

// halfMove checks a move that fails halfway: it must report the keys that have moved, and each key
// must be where its slot is.
func halfMove(s suite) {
	const other = "sync-0" // in another slot of the same master
	s.calm(clustered, func(w *testEnv, _ *election) {
		w.put(0, first, "1")
		w.put(0, other, "2")
		n1, err := w.shared(0).MasterForKey(w.ctx, second)
		w.must(err)
		w.must(n1.Do(w.ctx, "ACL", "SETUSER", "default", "-restore-asking", "(+restore-asking ~"+first+")").Err())
		var told []string
		_, err = w.Env.(testbed.Slots).Migrate(w.ctx, "n0", "n1", func(_, _ string, keys []history.KeyState) error {
			for _, k := range keys {
				told = append(told, k.Key)
			}
			return nil
		})
		if err == nil || len(told) != 1 || told[0] != first {
			w.Errorf("got %v, told of %v, want an error, and to be told of %s", err, told, first)
		}
		for node, key := range map[string]string{"n1": first, "n0": other} {
			if w.onNode(node, key) == "" {
				w.Errorf("%s is not on %s", key, node)
			}
		}
		w.gets(0, first, "1")
		w.gets(1, other, "2")
	})
}
