package checker

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// bruteForce decides exclusion without the sweep and porcupine, straight from the definition: at
// every nanosecond it counts the clients that believe they hold the lock. It uses neither holds nor
// spans nor overlaps. It returns the locks that more clients held at once than Claims.Permits allows
// (one, if that is 0).
func bruteForce(e history.Evidence) map[string]bool {
	e.Ops = NewCase(e).Ops // here a release without a mode gets the mode of its acquire
	s := bruteState{
		claims: e.Claims, ahead: map[int]time.Duration{}, crashed: map[int]bool{},
		unsure: map[string]bool{},
	}
	violated := map[string]bool{}
	if len(e.Ops) == 0 {
		return violated
	}
	for now := time.Duration(0); now <= e.Ops[len(e.Ops)-1].Time; now++ {
		s.tick(now, e.Ops)
		for _, a := range s.claimed {
			beside := map[int]bool{}
			for _, b := range s.claimed {
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

// bruteFences decides fencing without the sweep and porcupine, straight from the definition: it
// compares every two entries. It returns the locks with a wrong fence: one that is below 1, that was
// given twice (but not to one owner of a reentrant lock), or that is smaller than a fence that came
// before.
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

// bruteState is the state of bruteForce at one instant.
type bruteState struct {
	claims  history.Claims
	ahead   map[int]time.Duration // how far a client's clock is ahead, by client
	crashed map[int]bool
	unsure  map[string]bool // client, lock, mode and token of info acquires
	claimed []*attempt      // ok acquires that were not released
}

type attempt struct {
	client      int
	lock, token string
	mode        history.Mode
	dead        bool
	lapsed      bool     // dead only because all alarms of due rang; an extension may revive it
	due         []*alarm // the attempt is dead when all of them rang
}

// alarm is a deadline. It rings when the client's wall clock or monotonic clock shows at.
type alarm struct {
	at        time.Duration
	monotonic bool
	rang      bool
}

// hears makes the alarm ring if its clock shows its time, or a later one.
func (d *alarm) hears(now, ahead time.Duration) {
	if d.monotonic {
		ahead = 0
	}
	d.rang = d.rang || now+ahead >= d.at
}

func (s *bruteState) tick(now time.Duration, ops []history.Op) {
	var here []history.Op
	for _, op := range ops {
		if op.Time == now {
			here = append(here, op)
		}
	}
	for _, op := range here {
		if op.F == history.FClock {
			s.ahead[op.Client] = op.Offset
		}
	}
	for _, a := range s.claimed {
		a.listen(now, s.ahead[a.client])
	}
	for _, op := range here {
		s.live(op, now, ops)
	}
}

func (a *attempt) listen(now, ahead time.Duration) {
	all := len(a.due) > 0
	for _, d := range a.due {
		d.hears(now, ahead)
		all = all && d.rang
	}
	a.lapsed = a.lapsed || all && !a.dead
	a.dead = a.dead || all
}

// alarmFor returns the alarm of an operation's deadline. The alarm has rung if the client's clock
// showed its time or later between the operation's invocation and its completion.
func (s *bruteState) alarmFor(op history.Op, ops []history.Op) *alarm {
	d := &alarm{at: op.Lease.Deadline, monotonic: op.Lease.Monotonic}
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
		if now >= began {
			d.hears(now, ahead)
		}
	}
	return d
}

func (s *bruteState) live(op history.Op, now time.Duration, ops []history.Op) {
	mode := op.Mode
	if !s.claims.ReadWrite {
		mode = ""
	}
	id := fmt.Sprint(op.Client, op.Lock, mode)
	token := ""
	if op.Lease != nil {
		token = op.Lease.Token
	}
	switch {
	case op.F == history.FCrash:
		s.crashed[op.Client] = true
		for _, a := range s.claimed {
			a.dead = a.dead || a.client == op.Client
		}
	case s.crashed[op.Client]:
	case op.F == history.FLost:
		for _, a := range s.claimed {
			if a.client == op.Client && (op.Lock == "" || op.Lock == a.lock) && (mode == "" || mode == a.mode) {
				a.dead, a.lapsed = true, false
			}
		}
	case op.F == history.FAcquire && op.Type == history.Info && token != "":
		s.unsure[id+token] = true
	case op.F == history.FAcquire && op.Type == history.OK:
		a := &attempt{client: op.Client, lock: op.Lock, mode: mode, token: token}
		if op.Lease != nil && op.Lease.Deadline != 0 {
			a.due = append(a.due, s.alarmFor(op, ops))
			a.dead, a.lapsed = a.due[0].rang, a.due[0].rang
		}
		s.claimed = append(s.claimed, a)
	case op.F == history.FExtend && op.Type == history.OK && op.Lease != nil && op.Lease.Deadline != 0:
		for _, a := range s.claimed {
			if a.dead && !a.lapsed || len(a.due) == 0 || a.client != op.Client || a.lock != op.Lock || a.mode != mode {
				continue
			}
			anew := s.alarmFor(op, ops)
			a.due = append(a.due, anew)
			if a.lapsed && !anew.rang {
				a.dead, a.lapsed = false, false
			}
			a.listen(now, s.ahead[a.client])
		}
	case op.F == history.FRelease && op.Type == history.Invoke:
		s.giveBack(op.Client, op.Lock, mode, token, s.unsure[id+token])
	}
}

func (s *bruteState) giveBack(client int, lock string, mode history.Mode, token string, unsure bool) {
	same, latest := -1, -1
	for i, a := range s.claimed {
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
		s.claimed = append(s.claimed[:same:same], s.claimed[same+1:]...)
	}
}
