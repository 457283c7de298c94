package crash

import (
	"slices"
	"testing"
	"testing/synctest"
)

// dump is a shortened dump, as the Go runtime writes it when a process dies.
const dump = `SIGQUIT: quit
PC=0x1

goroutine 44 [sync.Mutex.Lock, 2 minutes, synctest bubble 7]:
internal/sync.runtime_SemacquireMutex(0x495c32?, 0x38?, 0x461c7f?)
	/usr/local/go/src/runtime/sema.go:95 +0x25
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:46
example.org/paylock.(*Lock).renew(0x6?, {0x1251971?, 0x7?})
	/home/u/paylock/lock.go:49 +0xa6
github.com/lockstorm/lockstorm/locktest.(*handle).TryLock(0xf386e5ad130)
	/root/go/pkg/mod/github.com/lockstorm/lockstorm@v1.0.0/locktest/handle.go:42 +0x83
created by sync.(*WaitGroup).Go in goroutine 35
	/usr/local/go/src/sync/waitgroup.go:238 +0x77

goroutine 45 [select (durable), synctest bubble 7]:
github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn(0x1)
	/root/go/pkg/mod/github.com/redis/go-redis/v9@v9.23.0/internal/pool/pool.go:700 +0x1
github.com/lockstorm/lockstorm/workloads.(*session).attempt(0x1)
	/root/go/pkg/mod/github.com/lockstorm/lockstorm@v1.0.0/workloads/hold.go:106 +0x1

goroutine 46 [running, synctest bubble 8]:
example.org/paylock.spin(0x1)
	/home/u/paylock/lock.go:60 +0x1
example.org/paylock.(*Lock).Release(0x1)
	/home/u/paylock/lock.go:70 +0x1
github.com/lockstorm/lockstorm/locktest.(*handle).Unlock(0xf386e5ad130)
	/root/go/pkg/mod/github.com/lockstorm/lockstorm@v1.0.0/locktest/handle.go:94 +0x83
github.com/lockstorm/lockstorm/workloads.(*session).attempt(0x1)
	/root/go/pkg/mod/github.com/lockstorm/lockstorm@v1.0.0/workloads/hold.go:106 +0x1
github.com/lockstorm/lockstorm/locks.Wait(0x1)
	/root/go/pkg/mod/github.com/lockstorm/lockstorm@v1.0.0/locks/wait.go:27 +0x1

goroutine 48 [sync.WaitGroup.Wait, synctest bubble 9]:
example.org/paylock.(*Lock).drain(0x1)
	/home/u/paylock/lock.go:80 +0x1

goroutine 47 [chan receive]:
main.main()
	/home/u/main.go:1 +0x1
`

func TestADumpTellsWhatABubbleDoes(t *testing.T) {
	all := ParseGoroutines(dump, "")
	if len(all) != 4 {
		t.Fatalf("got %d goroutines, want the 4 of bubbles: %+v", len(all), all)
	}
	for i, want := range []struct {
		line, entry             string
		durable, locked, active bool
	}{
		{"example.org/paylock.(*Lock).renew, lock.go:49", "example.org/paylock.(*Lock).renew, called by locktest.(*handle).TryLock,", false, true, false},
		{"", "", true, false, false},
		{"example.org/paylock.spin, lock.go:60", "example.org/paylock.(*Lock).Release, called by locktest.(*handle).Unlock,", false, false, true},
		{"example.org/paylock.(*Lock).drain, lock.go:80", "example.org/paylock.(*Lock).drain", false, false, false},
	} {
		g := all[i]
		if g.Line() != want.line || g.Entry() != want.entry || g.Durable() != want.durable || g.Locked() != want.locked || g.Active() != want.active {
			t.Errorf("%s: got %q, %q, durable %t, locked %t, active %t; want %+v", g.ID, g.Line(), g.Entry(), g.Durable(), g.Locked(), g.Active(), want)
		}
	}
	if got := ParseGoroutines(dump, "8"); len(got) != 1 || got[0].ID != "46" {
		t.Errorf("bubble 8: got %+v, want goroutine 46", got)
	}
	if got, want := Lines(all), []string{"example.org/paylock.(*Lock).drain, lock.go:80", "example.org/paylock.(*Lock).renew, lock.go:49", "example.org/paylock.spin, lock.go:60"}; !slices.Equal(got, want) {
		t.Errorf("lines: got %q, want %q", got, want)
	}
	if got, want := Lines(all[1:2]), "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn, pool.go:700"; len(got) != 1 || got[0] != want {
		t.Errorf("in a library: got %q, want %q", got, want)
	}
}

func TestWherePlacesAre(t *testing.T) {
	for want, lines := range map[string][]string{
		"":                                nil,
		" (in a; in b)":                   {"a", "b"},
		" (in a; in b; in c; and 2 more)": {"a", "b", "c", "d", "e"},
	} {
		if got := Where(lines); got != want {
			t.Errorf("%q: got %q, want %q", lines, got, want)
		}
	}
}

// A real dump has the form that Parse expects.
func TestADumpOfThisProcess(t *testing.T) {
	if b := Bubble(); b != "" {
		t.Errorf("outside: got bubble %q", b)
	}
	synctest.Test(t, func(t *testing.T) {
		mine := Bubble()
		wait := make(chan int)
		go waits(wait)
		synctest.Wait()
		all := ParseGoroutines(Goroutines(), mine)
		i := slices.IndexFunc(all, func(g Goroutine) bool {
			return g.Durable() && g.Entry() == "github.com/lockstorm/lockstorm/internal/crash.waits"
		})
		if mine == "" || i < 0 {
			t.Fatalf("bubble %q: nobody waits in %+v", mine, all)
		}
		if !slices.ContainsFunc(all, Goroutine.Active) {
			t.Errorf("nobody runs in %+v", all)
		}
		close(wait)
	})
}

func waits(c chan int) { <-c }
