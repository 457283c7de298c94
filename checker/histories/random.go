package histories

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// Dice is the source of randomness: a seeded generator, or rapid, which shrinks failures.
type Dice interface {
	IntN(n int) int
	Float64() float64
}

// Random returns a random history in which a few clients acquire, re-enter, extend, lose, release
// and crash, and their clocks jump. Times are small whole numbers of nanoseconds, so that many
// entries share a time. A referee grants the lock; how often the referee errs depends on the seed,
// so that legal and illegal histories are both common. Consecutive seeds go through the kinds of
// locks in turn.
func Random(seed uint64) history.Evidence {
	return Gamble(rand.New(rand.NewPCG(seed, 1)), Kinds[seed%uint64(len(Kinds))])
}

// Kinds lists the claims of all kinds of locks that have a model.
var Kinds = []history.Claims{
	{}, {Reentrant: true}, {ReadWrite: true}, {Fenced: true}, {Reentrant: true, Fenced: true}, {Permits: 2}, {Permits: 3, Reentrant: true},
}

// Gamble returns a random history like those of Random, for a lock with these claims.
func Gamble(rng Dice, claims history.Claims) history.Evidence {
	claims.TTL = 50
	g := &gambler{
		rng:     rng,
		claims:  claims,
		errs:    []float64{0, 0.05, 0.3, 0.8}[rng.IntN(4)],
		locks:   []string{"A", "B"}[:1+rng.IntN(2)],
		timed:   rng.IntN(2) == 0,
		clients: make([]*player, 2+rng.IntN(3)+claims.Permits),
		fences:  map[string]int64{},
	}
	for i := range g.clients {
		g.clients[i] = &player{id: i, process: history.Process(i)}
	}
	steps := 10 + rng.IntN(70)
	for range steps {
		g.now += time.Duration([]int{0, 0, 1, 1, 1, 3}[rng.IntN(6)])
		g.move(g.clients[rng.IntN(len(g.clients))])
	}
	return history.Evidence{Ops: g.ops, Claims: g.claims}
}

// gambler plays the clients and the referee of one random history.
type gambler struct {
	rng     Dice
	claims  history.Claims
	errs    float64 // the probability with which the referee grants a lock that is not free
	timed   bool    // with deadlines and clock jumps
	locks   []string
	clients []*player
	now     time.Duration
	ops     []history.Op
	fences  map[string]int64 // by lock: the last fence
	seq     int64            // the last Seq of the guarded resources
}

// player is a client, with its grants as the referee knows them.
type player struct {
	id      int
	process history.Process
	open    *history.Op
	held    []history.Op // the ok entries of the acquires that it has not released
	seen    []string     // the tokens of all its leases
	crashed bool
	fence   int64 // fence of the open acquire, if chosen at its invocation
}

func (g *gambler) log(op history.Op) history.Op {
	op.Index, op.Time = len(g.ops), g.now
	g.ops = append(g.ops, op)
	return op
}

func (g *gambler) move(p *player) {
	switch r := g.rng.Float64(); {
	case p.crashed:
	case p.open != nil && r < 0.8:
		g.complete(p)
	case p.open != nil && r < 0.84:
		g.lose(p)
	case p.open != nil:
	case r < 0.02:
		g.log(history.Op{Process: history.Nemesis, Client: p.id, Type: history.Info, F: history.FCrash})
		p.crashed, p.held = true, nil
	case r < 0.08 && g.timed:
		g.log(history.Op{Process: history.Nemesis, Client: p.id, Type: history.Info, F: history.FClock,
			Offset: time.Duration(g.rng.IntN(30) - 15)})
	case r < 0.12:
		g.lose(p)
	case len(p.held) == 0 || r < 0.35:
		g.invoke(p, history.Op{F: history.FAcquire, Lock: g.lock(), Mode: g.mode()})
		if p.fence = 0; g.claims.Fenced && g.rng.IntN(3) == 0 {
			p.fence = g.fence(p.open.Lock)
		}
	case r < 0.45 && g.claims.Fenced:
		held := p.held[g.rng.IntN(len(p.held))]
		g.seq++
		op := g.log(history.Op{Process: p.process, Client: p.id, Type: history.Invoke, F: history.FWrite, Lock: held.Lock, Lease: held.Lease})
		op.Type, op.Seq = history.OK, g.seq
		g.log(op)
	case r < 0.4:
		g.invoke(p, history.Op{F: history.FExtend, Lock: p.held[0].Lock, Mode: p.held[0].Mode})
	default:
		g.release(p)
	}
}

// lose tells a client that it lost one lock, or all. Half of the time the client then releases
// nothing.
func (g *gambler) lose(p *player) {
	lost := history.Op{Process: p.process, Client: p.id, Type: history.Info, F: history.FLost}
	if g.rng.IntN(4) > 0 {
		lost.Lock, lost.Mode = g.lock(), g.mode()
	}
	g.log(lost)
	if g.rng.IntN(2) == 0 {
		p.held = nil
	}
}

func (g *gambler) lock() string { return g.locks[g.rng.IntN(len(g.locks))] }

func (g *gambler) mode() history.Mode {
	if !g.claims.ReadWrite && g.rng.IntN(10) > 0 {
		return ""
	}
	return []history.Mode{history.Read, history.Read, history.Write, ""}[g.rng.IntN(4)]
}

func (g *gambler) invoke(p *player, op history.Op) {
	op.Process, op.Client, op.Type = p.process, p.id, history.Invoke
	op = g.log(op)
	p.open = &op
}

func (g *gambler) release(p *player) {
	i := g.rng.IntN(len(p.held))
	op := history.Op{F: history.FRelease, Lock: p.held[i].Lock, Mode: p.held[i].Mode, Lease: p.held[i].Lease}
	if g.rng.IntN(10) == 0 && len(p.seen) > 0 {
		op.Lease = &history.Lease{Token: p.seen[g.rng.IntN(len(p.seen))]}
	}
	p.held = append(p.held[:i:i], p.held[i+1:]...)
	g.invoke(p, op)
}

func (g *gambler) complete(p *player) {
	op := *p.open
	p.open = nil
	op.Type = []history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}[g.rng.IntN(5)]
	if op.F == history.FAcquire {
		op.Lease = g.lease(p)
		if op.Type != history.Info && op.Type != history.OK {
			op.Lease = nil
		}
		if op.Type == history.OK && !g.mayHold(p, op) && g.rng.Float64() >= g.errs {
			op.Type = history.Fail
		}
	}
	if op.F == history.FExtend && g.timed {
		op.Lease = &history.Lease{Deadline: g.now + time.Duration(g.rng.IntN(20)) + 1, Monotonic: g.rng.IntN(3) == 0}
	}
	if op.F == history.FAcquire && op.Type == history.OK && g.claims.Fenced {
		g.fenceIn(p, &op)
	}
	op = g.log(op)
	if op.F == history.FAcquire && op.Type == history.OK {
		p.held = append(p.held, op)
	}
	if op.Type == history.Info {
		p.process += 100
	}
}

// fence returns the lock's next fence or, with a probability of errs/4, an old fence.
func (g *gambler) fence(lock string) int64 {
	if g.rng.Float64() < g.errs/4 {
		return g.fences[lock] - int64(g.rng.IntN(3))
	}
	g.fences[lock]++
	return g.fences[lock]
}

// fenceIn gives an acquire its fence. In a reentrant lock, the owner often gets the fence of its
// earlier acquire again.
func (g *gambler) fenceIn(p *player, op *history.Op) {
	fence := p.fence
	for _, h := range p.held {
		if h.Lock == op.Lock && g.claims.Reentrant && g.rng.IntN(2) == 0 {
			fence = h.Lease.Fence
		}
	}
	if fence == 0 {
		fence = g.fence(op.Lock)
	}
	lease := history.Lease{}
	if op.Lease != nil {
		lease = *op.Lease
	}
	lease.Fence = fence
	op.Lease = &lease
}

// lease returns a lease with a token of this attempt ("t12"), a token of this owner ("c0"), or no token.
// A lease with neither a token nor a deadline is nil.
func (g *gambler) lease(p *player) *history.Lease {
	l := history.Lease{Token: []string{"", fmt.Sprintf("c%d", p.id), fmt.Sprintf("t%d", len(g.ops))}[g.rng.IntN(3)]}
	if g.timed && g.rng.IntN(3) > 0 {
		l.Deadline = g.now + time.Duration(g.rng.IntN(25)) - 3
		l.Monotonic = g.rng.IntN(3) == 0
	}
	if l == (history.Lease{}) {
		return nil
	}
	p.seen = append(p.seen, l.Token)
	return &l
}

func (g *gambler) mayHold(p *player, op history.Op) bool {
	free := max(1, g.claims.Permits)
	for _, other := range g.clients {
		for _, h := range other.held {
			bothRead := g.claims.ReadWrite && h.Mode == history.Read && op.Mode == history.Read
			if other != p && h.Lock == op.Lock && !bothRead {
				free--
				break
			}
		}
	}
	return free > 0
}

// RapidDice is a Dice whose choices rapid can shrink.
type RapidDice struct{ T *rapid.T }

// IntN implements Dice.
func (d RapidDice) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

// Float64 implements Dice.
func (d RapidDice) Float64() float64 { return float64(rapid.IntRange(0, 999).Draw(d.T, "p")) / 1000 }
