package checker

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// dice is where chance comes from: a seed, or rapid, which shrinks what failed.
type dice interface {
	IntN(n int) int
	Float64() float64
}

// randomEvidence makes up a history of a few clients who acquire, re-enter,
// extend, lose, release and crash, with clocks that jump, in times of whole
// nanoseconds so few that many entries share one. A referee grants the lock;
// how often it errs depends on the seed, so that legal and illegal histories
// are both common. Seeds go through the kinds of locks in turn.
func randomEvidence(seed uint64) history.Evidence {
	return gamble(rand.New(rand.NewPCG(seed, 1)), lockKinds[seed%uint64(len(lockKinds))])
}

// lockKinds are the claims of locks of all kinds that models speak of.
var lockKinds = []history.Claims{
	{}, {Reentrant: true}, {ReadWrite: true}, {Fenced: true}, {Reentrant: true, Fenced: true}, {Permits: 2}, {Permits: 3, Reentrant: true},
}

func gamble(rng dice, claims history.Claims) history.Evidence {
	claims.TTL, claims.KeyTTL = 50, 50
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

type gambler struct {
	rng     dice
	claims  history.Claims
	errs    float64
	timed   bool // deadlines and clocks
	locks   []string
	clients []*player
	now     time.Duration
	ops     []history.Op
	fences  map[string]int64 // by lock: the last that was given
	seq     int64            // of the guarded resources
}

// player is a client and what the referee thinks that it holds.
type player struct {
	id      int
	process history.Process
	open    *history.Op
	held    []history.Op // ok acquires
	seen    []string     // tokens
	crashed bool
	fence   int64 // of the open acquire, if it was given as soon as it was invoked
}

func (g *gambler) log(op history.Op) history.Op {
	op.Index, op.Time = len(g.ops), g.now
	g.ops = append(g.ops, op)
	return op
}

func (g *gambler) move(p *player) {
	switch r := g.rng.Float64(); {
	case p.crashed:
	case p.open != nil:
		if r < 0.8 {
			g.complete(p)
		}
	case r < 0.02:
		g.log(history.Op{Process: history.Nemesis, Client: p.id, Type: history.Info, F: history.FCrash})
		p.crashed, p.held = true, nil
	case r < 0.08 && g.timed:
		g.log(history.Op{Process: history.Nemesis, Client: p.id, Type: history.Info, F: history.FClock,
			Offset: time.Duration(g.rng.IntN(30) - 15)})
	case r < 0.12:
		lost := history.Op{Process: p.process, Client: p.id, Type: history.Info, F: history.FLost}
		if g.rng.IntN(4) > 0 {
			lost.Lock, lost.Mode = g.lock(), g.mode()
		}
		g.log(lost)
		if g.rng.IntN(2) == 0 {
			p.held = nil
		}
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
		op.Lease = &history.Lease{Deadline: g.now + time.Duration(g.rng.IntN(20)) + 1}
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

// fence counts up, or gives some old number again, as often as the referee errs.
func (g *gambler) fence(lock string) int64 {
	if g.rng.Float64() < g.errs/4 {
		return g.fences[lock] - int64(g.rng.IntN(3))
	}
	g.fences[lock]++
	return g.fences[lock]
}

// fenceIn gives an acquire its fence: often that which its owner has already.
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

// lease has a token of this attempt, of this owner, or none.
func (g *gambler) lease(p *player) *history.Lease {
	l := history.Lease{Token: []string{"", fmt.Sprintf("c%d", p.id), fmt.Sprintf("t%d", len(g.ops))}[g.rng.IntN(3)]}
	if g.timed && g.rng.IntN(3) > 0 {
		l.Deadline = g.now + time.Duration(g.rng.IntN(25)) - 3
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

// bruteForce decides exclusion a third time, straight from the definition: it
// lives through every instant and asks after each who believes. It knows
// neither holds nor spans nor overlaps. It returns the locks that two held.
func bruteForce(e history.Evidence) map[string]bool {
	e.Ops = moded(e) // which acquire a release without a mode belongs to is not the definition's
	w := world{
		claims: e.Claims, ahead: map[int]time.Duration{}, crashed: map[int]bool{},
		unsure: map[string]bool{}, open: map[history.Process]*attempt{},
	}
	violated := map[string]bool{}
	if len(e.Ops) == 0 {
		return violated
	}
	for now := time.Duration(0); now <= e.Ops[len(e.Ops)-1].Time; now++ {
		w.tick(now, e.Ops)
		for _, a := range w.claimed {
			beside := map[int]bool{}
			for _, b := range w.claimed {
				bothRead := a.mode == history.Read && b.mode == history.Read
				if !a.dead && !b.dead && a.lock == b.lock && a.client != b.client && !bothRead {
					beside[b.client] = true
				}
			}
			if len(beside) >= max(1, e.Claims.Permits) {
				violated[a.lock] = true
			}
		}
	}
	return violated
}

// bruteFences decides fencing a third time, pair by pair as the definition has it.
func bruteFences(e history.Evidence) map[string]bool {
	violated := map[string]bool{}
	fence := func(op history.Op) int64 { return op.Lease.Fence }
	for i, b := range e.Ops {
		began := i
		for began > 0 && !(e.Ops[began].Process == b.Process && e.Ops[began].Type == history.Invoke) {
			began--
		}
		isGrant := b.F == history.FAcquire && b.Type == history.OK
		if isGrant && fence(b) < 1 {
			violated[b.Lock] = true
		}
		for j, a := range e.Ops {
			own := e.Claims.Reentrant && a.Client == b.Client
			switch {
			case i == j || a.Lock != b.Lock || a.Type != history.OK || b.Type != history.OK:
			case isGrant && a.F == history.FAcquire && fence(a) == fence(b) && !own,
				isGrant && a.F == history.FAcquire && j < began && fence(a) > fence(b),
				a.Seq > 0 && b.Seq > a.Seq && fence(b) < fence(a):
				violated[b.Lock] = true
			}
		}
	}
	return violated
}

type world struct {
	claims  history.Claims
	ahead   map[int]time.Duration
	crashed map[int]bool
	unsure  map[string]bool // client, lock, mode and token of info acquires
	open    map[history.Process]*attempt
	claimed []*attempt // ok acquires that were not given back
}

type attempt struct {
	client      int
	lock, token string
	mode        history.Mode
	dead        bool
	due         []*alarm // dead when all rang
}

// alarm rings when the client's clock shows wall.
type alarm struct {
	wall time.Duration
	rang bool
}

func (w *world) tick(now time.Duration, ops []history.Op) {
	var here []history.Op
	for _, op := range ops {
		if op.Time == now {
			here = append(here, op)
		}
	}
	for _, op := range here {
		if op.F == history.FClock {
			w.ahead[op.Client] = op.Offset
		}
	}
	for _, a := range w.claimed {
		a.listen(now + w.ahead[a.client])
	}
	for _, op := range here {
		w.live(op, now, ops)
	}
}

func (a *attempt) listen(wall time.Duration) {
	all := len(a.due) > 0
	for _, d := range a.due {
		d.rang = d.rang || wall >= d.wall
		all = all && d.rang
	}
	a.dead = a.dead || all
}

// alarmFor sets an alarm that was listening since the invocation.
func (w *world) alarmFor(op history.Op, wall time.Duration, ops []history.Op) *alarm {
	d := &alarm{wall: wall}
	began, ahead := time.Duration(-1), time.Duration(0)
	for _, o := range ops[:op.Index] {
		if o.Process == op.Process && o.Type == history.Invoke {
			began = o.Time
		}
	}
	for now := time.Duration(0); now <= op.Time; now++ {
		for _, o := range ops {
			if o.F == history.FClock && o.Client == op.Client && o.Time == now {
				ahead = o.Offset
			}
		}
		d.rang = d.rang || now >= began && now+ahead >= wall
	}
	return d
}

func (w *world) live(op history.Op, now time.Duration, ops []history.Op) {
	mode := op.Mode
	if !w.claims.ReadWrite {
		mode = ""
	}
	id := fmt.Sprint(op.Client, op.Lock, mode)
	token := ""
	if op.Lease != nil {
		token = op.Lease.Token
	}
	switch {
	case op.F == history.FCrash:
		w.crashed[op.Client] = true
		for _, a := range w.claimed {
			a.dead = a.dead || a.client == op.Client
		}
	case w.crashed[op.Client]:
	case op.F == history.FLost:
		for _, a := range w.claimed {
			if a.client == op.Client && (op.Lock == "" || op.Lock == a.lock) && (mode == "" || mode == a.mode) {
				a.dead = true
			}
		}
	case op.F == history.FAcquire && op.Type == history.Info && token != "":
		w.unsure[id+token] = true
	case op.F == history.FAcquire && op.Type == history.OK:
		a := &attempt{client: op.Client, lock: op.Lock, mode: mode, token: token}
		if op.Lease != nil && op.Lease.Deadline != 0 {
			a.due = append(a.due, w.alarmFor(op, op.Lease.Deadline, ops))
			a.dead = a.due[0].rang
		}
		w.claimed = append(w.claimed, a)
	case op.F == history.FExtend && op.Type == history.OK && op.Lease != nil && op.Lease.Deadline != 0:
		for _, a := range w.claimed {
			if !a.dead && len(a.due) > 0 && a.client == op.Client && a.lock == op.Lock && a.mode == mode {
				a.due = append(a.due, w.alarmFor(op, op.Lease.Deadline, ops))
				a.listen(now + w.ahead[a.client])
			}
		}
	case op.F == history.FRelease && op.Type == history.Invoke:
		w.giveBack(op.Client, op.Lock, mode, token, w.unsure[id+token])
	}
}

func (w *world) giveBack(client int, lock string, mode history.Mode, token string, unsure bool) {
	same, latest := -1, -1
	for i, a := range w.claimed {
		if a.client != client || a.lock != lock || a.mode != mode {
			continue
		}
		latest = i
		if token != "" && a.token == token {
			same = i
		}
	}
	if same < 0 && !unsure {
		same = latest
	}
	if same >= 0 {
		w.claimed = append(w.claimed[:same:same], w.claimed[same+1:]...)
	}
}
