package locks

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// at makes a client's wall clock show *ms, in milliseconds since 1970, at each reading.
func at(c *Client, ms *int64) *Client {
	c.Now = func() time.Time { return time.UnixMilli(*ms) }
	return c
}

func TestRWHashOnTheWire(t *testing.T) {
	ms := int64(1_000_000)
	c := at(newClient(t, 0), &ms)
	loadScripts(t, c, hashRead, hashWrite, hashForget)
	read, write := rw(t, "rw-hash", c) // the lease is 1.5 s: a read lives 1.5 s, a write 4.5 s, the key 15 s
	lease := Lease{Token: "1000000"}
	play(t, []step{
		{"read", try(t, read, nil), "EVALSHA hash-read 1 k 1000000 4500 15000, lua HGET k write, lua HSET k read 1000000, lua PEXPIRE k 15000", nil},
		{"write, kept out by the reader", try(t, write, nil),
			"EVALSHA hash-write 1 k 1000000 4500 15000 1500, lua HGET k write, lua HGET k read", ErrBusy},
		{"leave read", release(t, read, &lease),
			"EVALSHA hash-forget 1 k read 1000000, lua HGET k read, lua HDEL k read", nil},
		{"leave read again: nobody is told", release(t, read, &lease),
			"EVALSHA hash-forget 1 k read 1000000, lua HGET k read", nil},
		{"write", try(t, write, nil),
			"EVALSHA hash-write 1 k 1000000 4500 15000 1500, lua HGET k write, lua HGET k read, lua HSET k write 1000000, lua PEXPIRE k 15000", nil},
		{"read, kept out by the writer", try(t, read, nil), "EVALSHA hash-read 1 k 1000000 4500 15000, lua HGET k write", ErrBusy},
		{"leave write", release(t, write, &lease),
			"EVALSHA hash-forget 1 k write 1000000, lua HGET k write, lua HDEL k write", nil},
	})
}

func TestRWHashClientClocksDecideWhoIsStillIn(t *testing.T) {
	const ttl = 1500
	tests := []struct {
		name          string
		first, second func(read, write Lock) Lock
		ahead         int64 // of the second client's clock, in milliseconds
		want          error
	}{
		{"a read lives for its life", reader, writer, ttl, ErrBusy},
		{"and no longer", reader, writer, ttl + 1, nil},
		{"a write lives three times as long for a reader", writer, reader, 3 * ttl, ErrBusy},
		{"and no longer for a reader", writer, reader, 3*ttl + 1, nil},
		{"a write lives three times as long for a writer", writer, writer, 3 * ttl, ErrBusy},
		{"and no longer for a writer", writer, writer, 3*ttl + 1, nil},
		{"a clock that is behind sees a time that is not over", reader, writer, -time.Hour.Milliseconds(), ErrBusy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := int64(1_000_000_000)
			then := now + tt.ahead
			acquire(t, tt.first(rw(t, "rw-hash", at(newClient(t, 0), &now))))
			second := tt.second(rw(t, "rw-hash", at(newClient(t, 1), &then)))
			if _, err := second.TryLock(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestRWHashLastReadersReleaseLetsWriterInBesideTheFirst(t *testing.T) {
	now := int64(1_000_000)
	first, _ := rw(t, "rw-hash", at(newClient(t, 0), &now))
	second, write := rw(t, "rw-hash", at(newClient(t, 1), &now))
	early := acquire(t, first)
	now++
	acquire(t, second)
	if err := first.Unlock(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	if _, err := write.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("writer beside the later reader: got %v, want ErrBusy", err)
	}
	acquire(t, first)
	now++
	late := acquire(t, second)
	if err := second.Unlock(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	acquire(t, write) // succeeds beside the first reader: that is the flaw
}

func TestRWHashEqualMillisecondsAreEqualOwners(t *testing.T) {
	now := int64(1_000_000)
	first, _ := rw(t, "rw-hash", at(newClient(t, 0), &now))
	second, write := rw(t, "rw-hash", at(newClient(t, 1), &now))
	lease := acquire(t, first)
	acquire(t, second)
	if err := first.Unlock(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	acquire(t, write) // succeeds beside the second reader
}

func TestRWHashKeyLivesTenTimesALease(t *testing.T) {
	c := newClient(t, 0)
	_, write := rw(t, "rw-hash", c)
	acquire(t, write)
	checkLife(t, c, 15*time.Second)
	if fields := c.Nodes[0].HKeys(t.Context(), "k").Val(); !slices.Equal(fields, []string{"write"}) {
		t.Errorf("the hash has fields %q", fields)
	}
}
