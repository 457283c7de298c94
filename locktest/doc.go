// Package locktest tests a distributed lock on Redis, as a service uses it, in one call of a go
// test:
//
//	func TestPaymentLock(t *testing.T) {
//		locktest.Run(t, func(c *locktest.Client) (locktest.Acquire, error) { // once per client process
//			rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial}) // the service's own client
//			c.Cleanup(func() { rdb.Close() })
//			return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
//				l, err := paylock.Obtain(ctx, rdb, key, ttl)
//				if errors.Is(err, paylock.ErrTaken) {
//					return locktest.Held{}, locktest.ErrBusy
//				} else if err != nil {
//					return locktest.Held{}, err // unknown: it may be held
//				}
//				return locktest.Held{Release: l.Release}, nil // Extend, Until, Lost, Fence, Token: where it has them
//			}, nil
//		})
//	}
//
// No Redis is needed. The lock, its Redis client and the nodes run in a simulation with virtual
// time. In the simulation clients are paused and crash, replies are lost, nodes restart and fail
// over, and clocks jump. Hundreds of such trials take less than a minute. The trials depend on a
// seed, so a failure can be run again. Only math/rand/v2, hash/maphash, the order of maps, and
// select among ready channels do not follow the seed; in Check, neither does math/rand (Client.Rand).
//
// # Verdicts
//
// A trial fails the test if the lock breaks a promise, or a property that its own commands could
// have kept. Examples: two clients hold the lock although both stopped in time, a release deletes
// another client's key, a key stays for ever, an extension succeeds too late, a fencing token is
// smaller than an earlier one, the code panics or never returns.
//
// No lease can prevent certain violations by itself. The test only logs these, as limits of any
// lease: a client that is frozen for longer than its lease goes on when it thaws; a node forgets
// acknowledged data in a restart, a failover or an eviction; a node's clock jumps; the key of a
// client that crashed keeps others out until it expires; a holder works for longer than a lease
// that nobody renews. The more a lock promises, the fewer limits it has. A lock that promises to
// renew its lease (PromiseRenewal) has to keep the lease for as long as its holder works. If a lock
// tells its holder the end of the lease (Held.Until), a frozen client is no excuse for two holders.
//
// # Kinds of locks
//
// The test covers every optional field of Held that the lock sets: extensions, deadlines, fencing
// tokens. A read-write lock calls Client.Readers. The option Reentrant is for locks that a holder
// may acquire again, Blocking for locks whose Acquire waits for its turn, Nodes for locks that need
// a majority of nodes. The test first checks, without any fault, that the lock does what its
// options say.
//
// Recipe turns a Subject into a recipe. Reports compare this recipe with other locks, also on real
// Redis: see the package lockstorm.
//
// # Redis clients
//
// Any client that takes a dialler works: go-redis (Options.Dialer), redigo (DialContextFunc),
// rueidis and valkey-go (ClientOption.DialCtxFn). The subject should use the timeouts and retries
// of its service. Options.Patience must cover them, and the lease should outlast them: a client
// that waits for a reply for longer than its lease may be told that it holds the lock when it does
// not.
//
// The lock's code must wait in ways that a bubble of testing/synctest knows: for channels, timers,
// sync.Cond and sync.WaitGroup. It must not wait for system calls, nor for channels that it keeps
// in package variables across trials. It must start no real connections. If a goroutine holds a
// mutex while a command waits for its reply, and another goroutine waits for the mutex, the clock
// stands still. After some seconds the trial then ends with an error that names the waiting line.
// go-redis 9.23 holds such a mutex during a connection's handshake, and its Close waits for the
// mutex, unless the mode of Options.MaintNotificationsConfig is ModeDisabled. The channel of
// go-redis's PubSub has the same problem.
//
// # What go test shows
//
// Each fault is a subtest, so -run can choose faults: -run '^TestPaymentLock$/^delay$'. With -v
// each subtest logs its limits, and the test explains each limit, with a trial to replay. With
// -short about a third of the trials run. With -artifacts the test keeps the history and the
// commands of the smallest failing trial. A fault that cannot strike the lock is skipped. The test
// fails if nothing was tested, for one of three reasons: -run chooses none of the faults, the
// budget left no time for a trial under any fault, or no trial was decided.
//
// The code under test runs in other processes, so a panic in one of its goroutines is a finding and
// does not end the test. For the same reason -cover and profiles do not see that code. With -race,
// a data race ends its trial with an error that has the race detector's report.
package locktest
