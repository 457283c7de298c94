package remedy

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Trial is what is in force in one trial, and what it must know of the clients. A nil Trial has nothing in force.
// Its methods are safe for concurrent use.
type Trial struct {
	names []string
	ttl   time.Duration
	clock func() time.Duration

	mu      sync.Mutex
	acted   Acted
	clients map[int]*client
	grants  int64
}

// Acted says how often remedies changed something, and when first.
type Acted struct {
	Times int           `json:"times"`
	First time.Duration `json:"first"`
}

// client is what is known of one client: its operations, and its attempts on each lock.
type client struct {
	operation int // number of the present or last operation, from 1
	atomic    string
	open      bool
	crashed   bool
	locks     map[string]*attempt
}

// attempt is a client's latest attempt on a lock.
type attempt struct {
	number int // from 1
	works  bool
	grant  int64 // number of the attempt's first grant among all; 0 = none
}

// Sender identifies the attempt and the operation in which a client sent a command.
type Sender struct {
	Client    int
	Operation int    // its number; 0 = the client was in no operation
	Atomic    string // the remedy that makes the operation atomic; "" = none
	at        time.Duration
	attempts  map[string]int // by lock
}

// New returns a trial with these remedies in force; nil if there are none.
func New(names []string, ttl time.Duration, clock func() time.Duration) *Trial {
	if len(names) == 0 {
		return nil
	}
	return &Trial{names: names, ttl: ttl, clock: clock, clients: map[int]*client{}}
}

// On reports whether a remedy is in force.
func (t *Trial) On(name string) bool { return t != nil && slices.Contains(t.names, name) }

// Lease returns the lease time.
func (t *Trial) Lease() time.Duration { return t.ttl }

// Act notes that a remedy changed something.
func (t *Trial) Act() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.acted.Times++; t.acted.Times == 1 {
		t.acted.First = t.clock()
	}
}

// Acted returns what Act noted.
func (t *Trial) Acted() Acted {
	if t == nil {
		return Acted{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acted
}

func (t *Trial) client(id int) *client {
	if t.clients[id] == nil {
		t.clients[id] = &client{locks: map[string]*attempt{}}
	}
	return t.clients[id]
}

func (c *client) attempt(lock string) *attempt {
	if c.locks[lock] == nil {
		c.locks[lock] = &attempt{}
	}
	return c.locks[lock]
}

// atomic has the remedies that make an operation atomic.
var atomic = map[string]string{history.FAcquire: AtomicTake, history.FRelease: AtomicRelease}

// Begin notes that a client begins an operation on a lock, such as history.FAcquire. fresh: it is a new attempt.
func (t *Trial) Begin(id int, f, lock string, fresh bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.client(id)
	c.operation++
	c.atomic, c.open = atomic[f], true
	if fresh {
		a := c.attempt(lock)
		*a = attempt{number: a.number + 1, works: true}
	}
}

// End notes that a client's operation is over, and whether the client works under the lock from now on.
func (t *Trial) End(id int, lock string, works bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.client(id)
	c.open = false
	c.attempt(lock).works = works
}

// Crashed notes that a client works under no lock any more.
func (t *Trial) Crashed(id int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client(id).crashed = true
}

// Sender returns who sends a command now; nil if no remedy is in force.
func (t *Trial) Sender(id int) *Sender {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.client(id)
	s := &Sender{Client: id, Atomic: c.atomic, at: t.clock(), attempts: map[string]int{}}
	if c.open {
		s.Operation = c.operation
	}
	for lock, a := range c.locks {
		s.attempts[lock] = a.number
	}
	return s
}

// Late reports whether the operation in which a command was sent is over, or the command is older than a lease.
func (t *Trial) Late(s *Sender) bool {
	if s == nil || s.Operation == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.client(s.Client)
	return !c.open || c.operation != s.Operation || t.clock()-s.at > t.ttl
}

// lockOf returns the lock that a key belongs to: the longest name that the key contains.
func (s *Sender) lockOf(key string) (lock string) {
	for name := range s.attempts {
		if len(name) > len(lock) && strings.Contains(key, name) {
			lock = name
		}
	}
	return lock
}

// Same reports whether two commands come from one attempt, as far as a key is concerned.
func (s *Sender) Same(o *Sender, key string) bool {
	return s.Client == o.Client && s.AttemptOn(key) == o.AttemptOn(key)
}

// AttemptOn returns the number of the attempt on the key's lock; 0 = none.
func (s *Sender) AttemptOn(key string) int { return s.attempts[s.lockOf(key)] }

// IsLock reports whether the key has a lock's own name.
func (s *Sender) IsLock(key string) bool { return key != "" && s.lockOf(key) == key }

// Works reports whether the attempt that sent a command goes on: it is under way, or its holder works.
func (t *Trial) Works(s *Sender, key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, a := t.client(s.Client), t.client(s.Client).attempt(s.lockOf(key))
	return !c.crashed && a.works && a.number == s.AttemptOn(key)
}

// Left reports whether the attempt that sent a command goes on no more, but its client does: the client could still
// release what the attempt has taken.
func (t *Trial) Left(s *Sender, key string) bool {
	t.mu.Lock()
	crashed := t.client(s.Client).crashed
	t.mu.Unlock()
	return !crashed && !t.Works(s, key)
}

// Granted notes that a node gave a key to the attempt that sent a command.
func (t *Trial) Granted(s *Sender, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lock := s.lockOf(key)
	if a := t.client(s.Client).attempt(lock); lock != "" && a.number == s.AttemptOn(key) {
		t.grants++
		a.grant = t.grants
	}
}

// Grant returns the number of the client's present grant of a lock. A client to which no node gave a key, but
// which works under the lock, has the next number, as from a counter that every grant increments.
func (t *Trial) Grant(id int, lock string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.client(id).attempt(lock)
	if a.grant == 0 {
		t.grants++
		a.grant = t.grants
	}
	return a.grant
}
