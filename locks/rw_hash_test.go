package locks

import (
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
