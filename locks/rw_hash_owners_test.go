package locks

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestRWHashOwnersOnTheWire(t *testing.T) {
	c := newClient(t, 0)
	loadScripts(t, c, ownersEnter, ownersLeave)
	read, write := rw(t, "rw-hash-owners", c)
	var lease Lease
	const look = ", lua TIME, lua HGETALL k"
	play(t, []step{
		{"read", try(t, read, &lease), "EVALSHA owners-enter 1 k read $token 1500" + look + ", lua HSET k $token $until:$token, lua PEXPIRE k 1500", nil},
		{"leave read", release(t, read, &lease), "EVALSHA owners-leave 1 k read $token, lua HGET k $token, lua HDEL k $token", nil},
		{"leave read again", release(t, read, &lease), "EVALSHA owners-leave 1 k read $token, lua HGET k $token", ErrNotHeld},
		{"write", try(t, write, &lease), "EVALSHA owners-enter 1 k write $token 1500" + look + ", lua HSET k write $until:$token, lua PEXPIRE k 1500", nil},
		{"leave write", release(t, write, &lease), "EVALSHA owners-leave 1 k write $token, lua HGET k write, lua HDEL k write", nil},
		{"read again", try(t, read, nil), "EVALSHA owners-enter 1 k read $token 1500" + look + ", lua HSET k $token $until:$token, lua PEXPIRE k 1500", nil},
		{"write, kept out by the reader", try(t, write, nil), "EVALSHA owners-enter 1 k write $token 1500" + look, ErrBusy},
	})
}

func TestNoReadersReleaseLetsAWriterInBesideAnother(t *testing.T) {
	for _, last := range []bool{false, true} {
		first, _ := rw(t, "rw-hash-owners", newClient(t, 0))
		second, write := rw(t, "rw-hash-owners", newClient(t, 1))
		leaving, staying := first, second
		leases := map[Lock]Lease{first: acquire(t, first), second: acquire(t, second)}
		if last {
			leaving, staying = second, first
		}
		if err := leaving.Unlock(t.Context(), leases[leaving]); err != nil {
			t.Fatal(err)
		}
		if _, err := write.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("last come, first to leave %t: writer beside a reader: got %v, want ErrBusy", last, err)
		}
		if err := staying.Unlock(t.Context(), leases[staying]); err != nil {
			t.Fatal(err)
		}
		lease := acquire(t, write)
		if err := write.Unlock(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADeadReaderIsOutWhenItsOwnTimeIsOver(t *testing.T) {
	c := newClient(t, 0)
	dead := newLock(t, "rw-hash-owners", c, 100*time.Millisecond).(RWLocker).Read()
	read, write := rw(t, "rw-hash-owners", newClient(t, 1)) // a lease of 1.5 s
	acquire(t, dead)
	lease := acquire(t, read) // the hash now outlives the dead reader's field
	eventually(t, "the dead reader's time is over", func() bool {
		held, err := read.TryLock(t.Context())
		if err == nil {
			err = read.Unlock(t.Context(), held)
		}
		return err == nil && len(c.Nodes[0].HKeys(t.Context(), "k").Val()) == 1
	})
	if err := read.Unlock(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	acquire(t, write)
	if fields := c.Nodes[0].HKeys(t.Context(), "k").Val(); !slices.Equal(fields, []string{"write"}) {
		t.Errorf("the hash has fields %q", fields)
	}
}

func TestRWHashOwnersAskNoClientsClock(t *testing.T) {
	now := time.Now().UnixMilli()
	ahead := now + time.Hour.Milliseconds()
	read, _ := rw(t, "rw-hash-owners", at(newClient(t, 0), &now))
	_, write := rw(t, "rw-hash-owners", at(newClient(t, 1), &ahead))
	acquire(t, read)
	if _, err := write.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("a writer whose clock is an hour ahead: got %v, want ErrBusy", err)
	}
}

func TestAnotherWritersReleaseRemovesNothing(t *testing.T) {
	_, mine := rw(t, "rw-hash-owners", newClient(t, 0))
	c := newClient(t, 1)
	_, other := rw(t, "rw-hash-owners", c)
	lease := acquire(t, mine)
	expireNow(t, c, "k")
	acquire(t, other)
	if err := mine.Unlock(t.Context(), lease); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v, want ErrNotHeld", err)
	}
	if fields := c.Nodes[0].HKeys(t.Context(), "k").Val(); !slices.Equal(fields, []string{"write"}) {
		t.Errorf("the hash has fields %q", fields)
	}
}
