package checker

import (
	"fmt"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// TestALockThatMayNotBeFreeIsNotCalledFree: a lock whose keys are missing at the end is not free
// for certain. Perhaps another lock's key refuses the acquires, or an acquire needs a key, such as a
// list of free tokens, or Redis could not serve.
func TestALockThatMayNotBeFreeIsNotCalledFree(t *testing.T) {
	tales(t, []tale{
		{"another lock's key refuses", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.invoke(5, 0, history.FAcquire)
			s.openIsOf(0, "other")
			s.cmd(6, 0, "OK", "SET", "other", "t0", "NX", "PX", "9000")
			s.done(7, 0, history.OK)
			s.healed(8)
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, quoted("t0"), "GET", "other")
			}
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"token list", "set-nx-px", func(s *story) {
			s.stranger(1, "RPUSH", "lock", "token")
			s.take(3, 0, quoted("token"), "LPOP", "lock")
			s.give(10, 0, "1", "RPUSH", "lock", "token")
			s.take(15, 2, quoted("token"), "LPOP", "lock")
			s.nemesis(18, crash(2))
			s.healed(19)
			for at := 30.0; at < 3500; at += 100 {
				s.busy(at, 1, "nil", "LPOP", "lock")
			}
			s.keys(3700)
		}, []string{"liveness: unknown", "ownership: unknown"}},
		{"token list, whose last push a failover lost", "set-nx-px", func(s *story) {
			s.stranger(1, "RPUSH", "lock", "token")
			s.take(3, 0, quoted("token"), "LPOP", "lock")
			s.give(10, 0, "1", "RPUSH", "lock", "token")
			s.down(12)
			s.up(14, allKeys)
			s.healed(19)
			for at := 30.0; at < 3500; at += 100 {
				s.busy(at, 1, "nil", "LPOP", "lock")
			}
			s.keys(3700)
		}, []string{"liveness: unknown", "ownership: unknown"}},
		{"a script with a command that this Redis does not have", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, "ERR Unknown Redis command called from script script: 965d07193620285511bc36a47fcef90ba5d5203d, on @user_script:1.", "EVAL", "return redis.call('LOCKUP', KEYS[1])", "1", "lock")
			}
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"a key went after the last attempt", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.invoke(9, 2, "acquire")
			s.cmd(10, 2, "OK", "SET", "lock", "t2", "NX", "PX", "5000")
			s.nemesis(11, crash(2))
			s.healed(12)
			for at := 20.0; at < 4000; at += 100 {
				s.busy(at, 1, "nil", setPX("t1")...)
			}
			s.keys(5200)
		}, []string{"liveness: long-lease", "liveness: orphaned-key"}},
		{"nobody ever got it", "set-nx-px", func(s *story) {
			s.healed(5)
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"attempts change a key", "fenced", func(s *story) {
			for client := range 2 {
				at := float64(2 + 10*client)
				s.invoke(at-1, client, history.FAcquire)
				s.cmd(at, client, "OK", "SET", "lock", "t", "NX", "PX", "1000")
				s.cmd(at+1, client, fmt.Sprint(client+1), "INCR", "lock:fence")
				s.done(at+2, client, history.OK, history.Lease{Token: "t", Fence: int64(client + 1)})
				s.give(at+5, client, "1", "DEL", "lock")
			}
			s.healed(30)
			for i := range 20 {
				at := float64(40 + 150*i)
				s.invoke(at-1, 2, history.FAcquire)
				s.cmd(at, 2, fmt.Sprint(i+3), "INCR", "lock:fence")
				s.cmd(at+1, 2, forgotten, evalsha()...)
				s.done(at+2, 2, history.Fail)
			}
			s.keys(3200)
		}, []string{"liveness: unknown"}},
		{"one asked often, the other not", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			s.invoke(9, 2, "acquire")
			for at := 10.0; at < 1010; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
			s.busy(1015, 1, forgotten, evalsha()...)
			s.done(1020, 2, "info")
			s.keys(3100)
		}, []string{"liveness: unknown"}},
	})
}

func TestErrorsOfScriptsTellOfTheNode(t *testing.T) {
	for _, reply := range []string{
		"ERR Unknown Redis command called from script script: f00, on @user_script:1.",
		"ERR Error running script (call to f_f00): @user_script:1: @user_script: 1: Unknown Redis command called from Lua script",
		"ERR Error running script (call to f_f00): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
		"ERR Error running script (call to f_f00): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
	} {
		if !unableTo(reply) {
			t.Errorf("%s tells of the lock", reply)
		}
	}
	for _, reply := range []string{forgotten, "ERR wrong number of arguments for 'set' command", "nil", "OK"} {
		if unableTo(reply) {
			t.Errorf("%s tells of the node", reply)
		}
	}
}
