package documents

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// takeover is the outcome of rivals' takeover of a dead client's key by GETSET, as D1 has it: a loser's
// GETSET overwrites the time that the winner set.
type takeover struct {
	moved     []time.Duration // for each loser, by how much its time differs from the winner's
	cleared   bool            // a loser's GETSET removed the TTL of the winner's key
	ownerless bool            // a GETSET came after the winner had left and made a key without owner and TTL
	shut      time.Duration   // how long the ownerless key kept everybody out, at most
	winners   int             // number of clients that replaced the dead client's time
}

// takeover finds the losers' GETSETs among the commands, and their effects.
func (u usage) takeover() (t takeover) {
	ran := slices.DeleteFunc(slices.Clone(u.commands), func(c history.Command) bool { return c.N == 0 || c.Exec == 0 })
	slices.SortFunc(ran, func(a, b history.Command) int { return a.Exec - b.Exec })
	// winner is the time that the latest winner set. before is the dead client's time, which the
	// first winner replaced.
	winner, before := "", ""
	for i, c := range ran {
		// A client that wins, or gets the lock otherwise, sends EXPIRE.
		expire := func(d history.Command) bool { return is(d, "EXPIRE") }
		next := slices.IndexFunc(ran[i+1:], func(d history.Command) bool { return d.Client == c.Client })
		switch {
		case !is(c, "GETSET"):
		case next >= 0 && expire(ran[i+1+next]):
			if winner == "" || string(c.Reply) == before {
				t.winners++
				before = string(c.Reply)
			}
			winner = string(c.Args[2])
		case c.Reply == "nil": // nobody had the lock
			t.ownerless = true
			end := len(ran) - 1
			if open := slices.IndexFunc(ran[i+1:], expire); open >= 0 {
				end = i + 1 + open
			}
			t.shut = max(t.shut, ran[end].Arrived-c.Arrived)
		default:
			t.moved = append(t.moved, (storedTime(string(c.Args[2])) - storedTime(winner)).Abs())
			// There is no such change if GETSET changed nothing: same time, and already no TTL.
			t.cleared = t.cleared || slices.ContainsFunc(u.keys, func(k history.KeyChange) bool {
				return k.Exec == c.Exec && k.By == history.ByCommand && k.Before != nil && k.Before.Expires > 0
			})
		}
	}
	return t
}

func is(c history.Command, name string) bool { return strings.EqualFold(string(c.Args[0]), name) }

// storedTime decodes a time that D1 stores in milliseconds, as 8 bytes, the most significant first.
func storedTime(value string) time.Duration {
	if len(value) != 8 {
		return 0
	}
	return time.Duration(binary.BigEndian.Uint64([]byte(value))) * time.Millisecond
}
