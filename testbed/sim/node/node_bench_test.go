package node

import (
	"testing"
	"time"
)

const compareAndDelete = `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`

func BenchmarkNode(b *testing.B) {
	sha := sha1hex(compareAndDelete)
	for _, bench := range []struct {
		name     string
		commands [][]string
	}{
		{"SET", [][]string{{"SET", "k", "token", "NX", "PX", "1000"}}},
		{"GET", [][]string{{"GET", "k"}}},
		{"HGET", [][]string{{"HGET", "h", "f"}}},
		{"HSET", [][]string{{"HSET", "h", "f", "v"}}},
		{"SET and EVALSHA compare-and-delete", [][]string{{"SET", "k", "token", "PX", "1000"}, {"EVALSHA", sha, "1", "k", "token"}}},
		{"EVALSHA compare-and-delete", [][]string{{"EVALSHA", sha, "1", "k", "token"}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			n := newNode(b)
			s := n.Connect()
			now := time.Unix(946684800, 0)
			s.Exec(now, []string{"SCRIPT", "LOAD", compareAndDelete})
			s.Exec(now, []string{"HSET", "h", "f", "v"})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(100 * time.Microsecond)
				s.Exec(now, bench.commands[i%len(bench.commands)])
			}
		})
	}
	b.Run("Snapshot after SET", func(b *testing.B) {
		n := newNode(b)
		s := n.Connect()
		now := time.Unix(946684800, 0)
		s.Exec(now, []string{"SET", "other", "v", "PX", "100000"})
		b.ReportAllocs()
		for b.Loop() {
			s.Exec(now, []string{"SET", "k", "v", "PX", "1000"})
			n.Snapshot(now)
		}
	})
	b.Run("Reset", func(b *testing.B) {
		n := newNode(b)
		b.ReportAllocs()
		for b.Loop() {
			n.Reset()
		}
	})
}
