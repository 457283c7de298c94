package evidence

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestALossEndsTheSectionsThatItIsAbout(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   []time.Duration // when each section was over, in order of acquisition
	}{
		{"of this lock", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 acquire 3-4 ok lock=M
			c0 lost 9`, []time.Duration{9 * ms, Never}},
		{"of all locks", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 acquire 3-4 ok lock=M
			c1 acquire 5-6 ok lock=N
			c0 lost 9 lock=`, []time.Duration{9 * ms, 9 * ms, Never}},
		{"after the release", history.Claims{}, `
			c0 acquire 1-2 ok
			c0 release 3-4 ok
			c0 lost 9 lock=`, []time.Duration{3 * ms}},
		{"of a read-write lock, in any mode", history.Claims{ReadWrite: true}, `
			c0 acquire 1-2 ok mode=write
			c1 acquire 3-4 ok mode=read
			c0 lost 9`, []time.Duration{9 * ms, Never}},
		{"of a read-write lock, in one mode", history.Claims{ReadWrite: true}, `
			c0 acquire 1-2 ok mode=write
			c0 acquire 3-4 ok mode=read
			c0 lost 9 mode=read`, []time.Duration{Never, 9 * ms}},
		{"of a lock without modes", history.Claims{}, `
			c0 acquire 1-2 ok mode=write
			c0 lost 9 mode=read`, []time.Duration{9 * ms}},
		{"of all read-write locks", history.Claims{ReadWrite: true}, `
			c0 acquire 1-2 ok mode=write
			c0 acquire 3-4 ok mode=read lock=M
			c0 lost 9 lock=`, []time.Duration{9 * ms, 9 * ms}},
	} {
		e := New(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims})
		_, sections := Sections(e.Evidence, e.Pairs())
		if len(sections) != len(c.want) {
			t.Fatalf("%s: got %d sections, want %d", c.name, len(sections), len(c.want))
		}
		for i, s := range sections {
			if s.Over != c.want[i] {
				t.Errorf("%s: section %d was over at %v, want %v", c.name, i, s.Over, c.want[i])
			}
		}
	}
}
