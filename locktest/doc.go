// Package locktest tests a distributed lock on Redis, as a service uses it, in one call of a
// go test:
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
// No Redis is needed: the lock, its Redis client and the nodes run in a simulation with
// virtual time, where clients are paused and crash, replies are lost, nodes restart and fail
// over, and clocks jump. Hundreds of such trials take some seconds. They depend on a seed, except
// for math/rand/v2, the order of maps, and select among ready channels: a failure can be run
// again.
//
// # Verdicts
//
// A trial fails the test if the lock breaks what it promises, or a property that its own
// commands could have kept: two clients hold it although both stopped in time, a release
// deletes another client's key, a key stays for ever, an extension succeeds too late, a
// fencing token is smaller than an earlier one, the code panics or never returns.
//
// Some violations no lease can prevent by itself, and these are only logged, as limits of any
// lease: a client that is frozen for longer than its lease goes on when it thaws; a node
// forgets what it acknowledged, in a restart, a failover or an eviction; a node's clock
// jumps; the key of a client that crashed keeps others out until it expires; a holder works
// for longer than a lease that nobody renews. Options narrow them: a lock that promises to
// renew its lease (PromiseRenewal) has to keep it for as long as its holder works, and a
// lock whose holder knows until when it holds (Held.Until) has no excuse for two holders
// when a client was frozen.
//
// # Kinds of locks
//
// What Held has beside Release is tested: extensions, deadlines, fencing tokens. A read-write
// lock calls Client.Readers. The option Reentrant is for locks that a holder may acquire
// again, Blocking for those whose Acquire waits for its turn, Nodes for those that need a
// majority of nodes. Without any fault, each has to do what its option says, before anything
// else is tried.
//
// Recipe makes a Subject a recipe, which reports compare with other locks, also on real Redis:
// see the package lockstorm.
//
// # Redis clients
//
// Any client that takes a dialler works: go-redis (Options.Dialer), redigo
// (DialContextFunc), rueidis and valkey-go (ClientOption.DialCtxFn). The subject should use
// the timeouts and retries that its service runs with. Options.Patience must cover them,
// and the lease should outlast them: a client that waits for a reply for longer than its
// lease may be told that it holds the lock when it does not.
//
// The lock's code must wait in ways that a bubble of testing/synctest knows: for channels,
// timers, sync.Cond and sync.WaitGroup, not for system calls, and not for channels that it
// keeps in package variables across trials. It must start no real connections. If a
// goroutine holds a mutex while a command waits for its reply, and another one waits for the
// mutex, the clock stands still: after some seconds the trial ends with an error, which names
// the line that waits. go-redis 9.23 holds one during a connection's handshake, and its Close
// waits for it, unless the mode of Options.MaintNotificationsConfig is ModeDisabled.
// The channel of its PubSub has the same problem.
//
// # What go test shows
//
// Each fault is a subtest, so that -run chooses faults: -run '^TestPaymentLock$/^delay$'. With
// -v each tells its limits, and the test tells what each is, with a trial to replay; -short runs
// about a third of the trials, and -artifacts keeps the history and the commands of the smallest
// failing trial. A test that tried nothing fails
// if -run chooses none of the faults, if the budget left no time for a trial under any, or if no
// trial was decided; a fault that cannot strike the lock is skipped.
//
// The code under test runs in other processes, so that a panic in one of its goroutines is a
// finding; therefore -cover and profiles do not see it. With -race, a data race ends its trial
// with an error that has the race detector's report.
package locktest
