package checker

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Progress says how well a trial went for clients that waited. It is a measure and no
// verdict: nothing in it is right or wrong by itself. A measure is zero if nothing was
// seen of it; the counts beside it say how much there was to see.
type Progress struct {
	// Waits counts the waits that ended with a grant: from a client's first
	// attempt, through all that failed, to the grant. InVain counts the other waits:
	// the client crashed, or the trial ended. Re-entries are no waits.
	Waits      int           `json:"waits"`
	InVain     int           `json:"inVain"`
	WaitMedian time.Duration `json:"waitMedian"`
	WaitP95    time.Duration `json:"waitP95"`
	WaitMax    time.Duration `json:"waitMax"`

	// Bypasses are grants to others while a client waited: the total, and the greatest
	// number during one wait.
	Bypasses    int `json:"bypasses"`
	BypassesMax int `json:"bypassesMax"`

	// Jain is Jain's index of fairness over the grants of the clients that asked:
	// 1 if all got equally many, 1/n if one of n got all; 0 if nobody got any.
	Jain    float64 `json:"jain"`
	Grants  int     `json:"grants"`
	Clients int     `json:"clients"`

	// Losses counts the holders who were told, or saw, that their lease was gone, if the
	// wire shows when it went. The lag is the time from then until the holder knew.
	Losses     int           `json:"losses"`
	LossLagMax time.Duration `json:"lossLagMax"`
	LossLagSum time.Duration `json:"lossLagSum"`

	// Orphans counts the times that a key stood on a node unattended: no living client
	// with a claim in the key had to do with the lock. The other fields say for how
	// long. Times of two milliseconds and less do not count.
	Orphans   int           `json:"orphans"`
	OrphanSum time.Duration `json:"orphanSum"`
	OrphanMax time.Duration `json:"orphanMax"`

	// Leftovers counts the keys that the function Leftovers lists: attempts left them
	// behind, and their living clients do not know of a success. LeftoverMost is the
	// key that stood the longest.
	Leftovers    int           `json:"leftovers,omitempty"`
	LeftoverSum  time.Duration `json:"leftoverSum,omitempty"`
	LeftoverMost Leftover      `json:"leftoverMost,omitzero"`

	// Recoveries counts, for each fault, the locks that somebody was granted after the
	// fault. The time runs from the fault's end, or the crash, to the next grant. For a
	// crash only the locks count that the client had to do with. A lock that nobody
	// asked for any more does not count. Unrecovered counts the locks that were asked
	// for and granted to nobody.
	Recoveries  int           `json:"recoveries"`
	Unrecovered int           `json:"unrecovered"`
	RecoverySum time.Duration `json:"recoverySum"`
	RecoveryMax time.Duration `json:"recoveryMax"`

	// Commands counts all commands of clients, without handshakes and PING. The commands
	// of a grant are those that its client sent about the lock: from the first attempt
	// that led to the grant until the client began to ask for the next. Renewals and the
	// release belong to them.
	Commands            int `json:"commands,omitempty"`
	GrantCommandsMedian int `json:"grantCommandsMedian,omitempty"`
	GrantCommandsMax    int `json:"grantCommandsMax,omitempty"`
	// HeldCommands counts the commands about a lock that any client sent while somebody
	// believed that it held the lock. HeldTime is how long that was, for all locks
	// together.
	HeldCommands int           `json:"heldCommands,omitempty"`
	HeldTime     time.Duration `json:"heldTime,omitempty"`
}

// Measure works out a trial's progress. It is a pure function of the evidence, in
// O(n log n); an impossible history has none.
func Measure(e history.Evidence) Progress { return NewCase(e).Measure() }

// Measure is the function Measure.
func (c *Case) Measure() Progress {
	w, err := c.file.wire()
	if err != nil {
		return Progress{}
	}
	m := &measure{wire: w, granted: map[string][]time.Duration{}, asked: map[string]time.Duration{}, got: map[int]int{}, began: map[errand][]time.Duration{}}
	m.waits()
	m.losses()
	m.orphaned()
	m.leftovers()
	m.recoveries()
	m.costs()
	return m.Progress
}

// measure is a Progress in the making.
type measure struct {
	Progress
	wire    *wire
	granted map[string][]time.Duration // by lock: when each grant was known, ascending
	asked   map[string]time.Duration   // by lock: when the last acquire was over
	got     map[int]int                // grants by client
	// began is when each wait that ended with a grant began, ascending.
	began map[errand][]time.Duration
}

// queued is a client's wait for a lock.
type queued struct {
	lock        string
	since, till time.Duration
}

// waits measures waiting, bypasses and fairness.
func (m *measure) waits() {
	open := map[seat]time.Duration{}
	var through []queued
	for i := range m.wire.pairing.all {
		p := &m.wire.pairing.all[i]
		at := seat{client: p.Invoke.Client, lock: p.Invoke.Lock, mode: p.Invoke.Mode}
		if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis {
			continue
		}
		m.got[at.client] += 0
		since, waiting := open[at]
		if !waiting {
			if m.reenters(p) {
				continue
			}
			since = p.Invoke.Time
			open[at] = since
		}
		m.asked[at.lock] = max(m.asked[at.lock], min(m.wire.doneAt(p), m.wire.end))
		if p.Done() != history.OK {
			continue
		}
		delete(open, at)
		till := p.Complete.Time
		m.granted[at.lock] = append(m.granted[at.lock], till)
		m.got[at.client]++
		m.began[errand{at.client, at.lock}] = append(m.began[errand{at.client, at.lock}], since)
		through = append(through, queued{at.lock, since, till})
	}
	for _, times := range m.granted {
		slices.Sort(times)
	}
	for _, times := range m.began {
		slices.Sort(times)
	}
	m.InVain = len(open)
	m.tell(through)
	m.fairness()
}

// reenters says whether the client believed that it held the lock when it asked.
func (m *measure) reenters(p *history.Pair) bool {
	if p.Done() == history.OK {
		if i, ok := m.wire.holdOf[p.Complete.Index]; ok && m.wire.holds[i].Acquire != p.Complete.Index {
			return true
		}
	}
	return m.wire.Claims.Reentrant && m.wire.attends(p.Invoke.Client, p.Invoke.Lock, p.Invoke.Time)
}

// tell counts the waits that came to an end, and who was let in meanwhile.
func (m *measure) tell(through []queued) {
	lasted := make([]time.Duration, 0, len(through))
	for _, q := range through {
		lasted = append(lasted, q.till-q.since)
		times := m.granted[q.lock]
		first, _ := slices.BinarySearch(times, q.since+1)
		past, _ := slices.BinarySearch(times, q.till)
		n := max(0, past-first)
		m.Bypasses += n
		m.BypassesMax = max(m.BypassesMax, n)
	}
	if m.Waits = len(lasted); m.Waits == 0 {
		return
	}
	slices.Sort(lasted)
	m.WaitMedian, m.WaitP95, m.WaitMax = lasted[(m.Waits-1)/2], lasted[(m.Waits*95+99)/100-1], lasted[m.Waits-1]
}

// fairness is Jain's index: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of
// Fairness and Discrimination for Resource Allocation in Shared Computer Systems"
// (1984).
func (m *measure) fairness() {
	sum, squares := 0.0, 0.0
	for _, n := range m.got {
		m.Grants += n
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if m.Clients = len(m.got); squares > 0 {
		m.Jain = min(1, sum*sum/(float64(m.Clients)*squares))
	}
}

// losses measures how long holders went on after their leases were gone.
func (m *measure) losses() {
	last := map[errand]int{} // the invocation of the client's last grant
	for _, op := range m.wire.Ops {
		at := errand{op.Client, op.Lock}
		if invoked, ok := m.wire.invocation(op.Index); ok && op.F == history.FAcquire && op.Type == history.OK {
			p := m.wire.operation(invoked)
			last[errand{p.Invoke.Client, p.Invoke.Lock}] = invoked
		}
		grant, had := last[at]
		if op.F != history.FLost || !had {
			continue
		}
		if gone, ok := m.wire.goneAt(grant); ok && gone <= op.Time {
			m.Losses++
			m.LossLagSum += op.Time - gone
			m.LossLagMax = max(m.LossLagMax, op.Time-gone)
		}
	}
}

// goneAt is when the acquire lost its quorum: too few nodes still carried its grants.
func (w *wire) goneAt(acquire int) (at time.Duration, ok bool) {
	left := map[keyspace.NodeKey]time.Duration{} // when the last grant there ended
	for _, l := range w.Of(acquire) {
		unit := w.unitOf(l.NodeKey())
		left[unit] = max(left[unit], l.Until())
	}
	if len(left) == 0 {
		return 0, false
	}
	ends := slices.Sorted(maps.Values(left))
	at = ends[max(0, len(ends)-w.quorum())]
	return at, at < Never
}
