package locks

import (
	"testing"
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
