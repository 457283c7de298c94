package locks

import (
	"errors"
	"testing"
	"time"
)

// rw makes client c's handles on the read-write lock "k".
func rw(t *testing.T, recipe string, c *Client) (read, write Lock) {
	t.Helper()
	l := newLock(t, recipe, c, 1500*time.Millisecond).(RWLocker)
	return l.Read(), l.Write()
}

func TestReadersShareAndWritersDoNot(t *testing.T) {
	for _, recipe := range []string{"rw-two-keys", "rw-hash", "rw-hash-owners"} {
		for _, tt := range []struct {
			name          string
			first, second func(read, write Lock) Lock
			want          error
		}{
			{"reader beside reader", reader, reader, nil},
			{"writer beside reader", reader, writer, ErrBusy},
			{"reader beside writer", writer, reader, ErrBusy},
			{"writer beside writer", writer, writer, ErrBusy},
		} {
			t.Run(recipe+"/"+tt.name, func(t *testing.T) {
				first := tt.first(rw(t, recipe, newClient(t, 0)))
				second := tt.second(rw(t, recipe, newClient(t, 1)))
				lease := acquire(t, first)
				if _, err := second.TryLock(t.Context()); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if err := first.Unlock(t.Context(), lease); err != nil {
					t.Errorf("release: %v", err)
				}
				if _, err := second.TryLock(t.Context()); err != nil {
					t.Errorf("after the release: %v", err)
				}
			})
		}
	}
}

func reader(read, _ Lock) Lock  { return read }
func writer(_, write Lock) Lock { return write }

func TestTheMakersLockOfAReadWriteRecipeIsTheWriteLock(t *testing.T) {
	for _, recipe := range []string{"rw-two-keys", "rw-hash", "rw-hash-owners"} {
		l := newLock(t, recipe, newClient(t, 0), time.Second)
		if l.(RWLocker).Write() != l {
			t.Errorf("%s: Write is another lock", recipe)
		}
	}
}

func TestTwoKeysOnTheWire(t *testing.T) {
	c := newClient(t, 0)
	loadScripts(t, c, twoKeysRead, twoKeysWrite)
	read, write := rw(t, "rw-two-keys", c)
	play(t, []step{
		{"read", try(t, read, nil), "EVALSHA two-keys-read 2 k:read k:write 2, lua EXISTS k:write, lua SET k:read 1 EX 2", nil},
		{"write, kept out by the reader", try(t, write, nil), "EVALSHA two-keys-write 2 k:read k:write 2, lua EXISTS k:read", ErrBusy},
		{"leave read", release(t, read, &Lease{}), "DEL k:read", nil},
		{"leave read again", release(t, read, &Lease{}), "DEL k:read", ErrNotHeld},
		{"write", try(t, write, nil), "EVALSHA two-keys-write 2 k:read k:write 2, lua EXISTS k:read, lua SET k:write 1 EX 2 NX", nil},
		{"write, kept out by the writer", try(t, write, nil), "EVALSHA two-keys-write 2 k:read k:write 2, lua EXISTS k:read, lua SET k:write 1 EX 2 NX", ErrBusy},
		{"read, kept out by the writer", try(t, read, nil), "EVALSHA two-keys-read 2 k:read k:write 2, lua EXISTS k:write", ErrBusy},
		{"leave write", release(t, write, &Lease{}), "DEL k:write", nil},
	})
}
