package progress

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Measures tell how well a trial went for clients that waited. They are no verdict: no
// value is right or wrong by itself. A measure is zero if there was nothing to measure;
// the counts beside it show the number of cases.
type Measures struct {
	// Waits counts the waits that ended with a grant. A wait lasts from a client's first attempt,
	// through all failed attempts, to the grant. InVain counts the waits that ended without a grant
	// because the client crashed or the trial ended. Re-entries are no waits.
	Waits      int           `json:"waits"`
	InVain     int           `json:"inVain"`
	WaitMedian time.Duration `json:"waitMedian"`
	WaitP95    time.Duration `json:"waitP95"`
	WaitMax    time.Duration `json:"waitMax"`

	// Bypasses are grants to others while a client waited: the total, and the greatest
	// number during one wait.
	Bypasses    int `json:"bypasses"`
	BypassesMax int `json:"bypassesMax"`

	// Jain is Jain's index of fairness over the grants of the clients that asked: 1 if all got the
	// same number of grants, 1/n if one of n clients got all, 0 if there were none.
	Jain    float64 `json:"jain"`
	Grants  int     `json:"grants"`
	Clients int     `json:"clients"`

	// Losses counts the lost leases whose holder was told of the loss or noticed it, if the keys show
	// when the lease was lost. The lag is the time from the loss until the holder knew.
	Losses     int           `json:"losses"`
	LossLagMax time.Duration `json:"lossLagMax"`
	LossLagSum time.Duration `json:"lossLagSum"`

	// Orphans counts the times that a key stood on a node unattended: none of the clients
	// with a grant in the key was alive and attended to the lock. OrphanSum and OrphanMax
	// are the durations. Times of two milliseconds and less do not count.
	Orphans   int           `json:"orphans"`
	OrphanSum time.Duration `json:"orphanSum"`
	OrphanMax time.Duration `json:"orphanMax"`

	// Leftovers counts the keys that the function Leftovers lists: keys of attempts whose
	// living clients do not know of a success. LeftoverMost is the key that stood the
	// longest.
	Leftovers    int           `json:"leftovers,omitempty"`
	LeftoverSum  time.Duration `json:"leftoverSum,omitempty"`
	LeftoverMost Leftover      `json:"leftoverMost,omitzero"`

	// Recoveries counts, for each fault, the locks that were granted again after the fault. The
	// time runs from the fault's end, or from the moment when a client crashed or began to hang in
	// its work, to the next grant. For a crash or a hang, only the locks that the client dealt with
	// count. A lock that no client asked for any more does not count. Unrecovered counts the locks
	// that clients asked for and did not get.
	Recoveries  int           `json:"recoveries"`
	Unrecovered int           `json:"unrecovered"`
	RecoverySum time.Duration `json:"recoverySum"`
	RecoveryMax time.Duration `json:"recoveryMax"`

	// Commands counts all commands of clients, without handshakes and PING. The commands of a grant
	// are those that its client sent about the lock, from the first attempt of the wait until the
	// start of the client's next wait that ends with a grant. Renewals and the release are among
	// them.
	Commands            int `json:"commands,omitempty"`
	GrantCommandsMedian int `json:"grantCommandsMedian,omitempty"`
	GrantCommandsMax    int `json:"grantCommandsMax,omitempty"`
	// HeldCommands counts the commands about a lock that any client sent while some client believed
	// that it held the lock. HeldTime is the length of these times of belief, summed over all
	// locks.
	HeldCommands int           `json:"heldCommands,omitempty"`
	HeldTime     time.Duration `json:"heldTime,omitempty"`

	// Updates counts the writes of guarded resources. LostUpdates counts the writes that another
	// client overwrote with a value computed from an earlier read. Both are 0 for locks that let
	// several clients in at once.
	Updates     int `json:"updates,omitempty"`
	LostUpdates int `json:"lostUpdates,omitempty"`
	// Lasted is the last recorded time of the trial; 0 without updates.
	Lasted time.Duration `json:"lasted,omitempty"`
}

// HeldRate returns the number of commands per second of held time; 0 if no lock was held.
func (m Measures) HeldRate() float64 {
	if m.HeldTime <= 0 {
		return 0
	}
	return float64(m.HeldCommands) / m.HeldTime.Seconds()
}

// Measure returns a trial's measures. It is a pure function of the evidence, in O(n log
// n). The measures of an impossible history are zero.
func Measure(e history.Evidence) Measures { return MeasureCase(evidence.New(e)) }

// MeasureCase is Measure for a case that is already prepared: the one inside a checker.Case.
func MeasureCase(c *evidence.Case) Measures {
	rp := c.Replay()
	m := newMeasure(rp)
	m.waits()
	m.losses()
	m.orphaned()
	m.leftovers()
	m.recoveries()
	m.costs()
	m.updates()
	return m.Measures
}

// Waits returns the durations of the waits that ended with a grant (Measures.Waits),
// ascending; nil if the history is impossible. The case is the one inside a checker.Case.
func Waits(c *evidence.Case) []time.Duration {
	rp := c.Replay()
	m := newMeasure(rp)
	m.waits()
	return m.lasted
}

func newMeasure(rp *evidence.Replay) *measure {
	return &measure{replay: rp, granted: map[string][]time.Duration{}, asked: map[string]time.Duration{}, got: map[int]int{}, began: map[evidence.ClientLock][]time.Duration{}}
}

type measure struct {
	Measures
	replay  *evidence.Replay
	lasted  []time.Duration            // durations of the waits that ended with a grant, ascending
	granted map[string][]time.Duration // by lock: the times of the replies that granted it, ascending
	asked   map[string]time.Duration   // by lock: the end of the last acquire
	got     map[int]int                // grants by client
	// began lists, by client and lock, the starts of the waits that ended with a grant, ascending.
	began map[evidence.ClientLock][]time.Duration
	ended []queued                         // the waits that ended with a grant
	open  map[evidence.Owner]time.Duration // the starts of the waits that never ended
}

// queued is a wait that ended with a grant.
type queued struct {
	lock        string
	since, till time.Duration
}

// waits measures waiting, bypasses and fairness.
func (m *measure) waits() {
	open := map[evidence.Owner]time.Duration{}
	for i := range m.replay.Pairing.All {
		p := &m.replay.Pairing.All[i]
		at := evidence.Owner{Client: p.Invoke.Client, Lock: p.Invoke.Lock, Mode: p.Invoke.Mode}
		if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis {
			continue
		}
		m.got[at.Client] += 0
		since, waiting := open[at]
		if !waiting {
			if m.reenters(p) {
				continue
			}
			since = p.Invoke.Time
			open[at] = since
		}
		m.asked[at.Lock] = max(m.asked[at.Lock], min(m.replay.DoneAt(p), m.replay.End))
		if p.Done() != history.OK {
			continue
		}
		delete(open, at)
		till := p.Complete.Time
		m.granted[at.Lock] = append(m.granted[at.Lock], till)
		m.got[at.Client]++
		m.began[evidence.ClientLock{Client: at.Client, Lock: at.Lock}] = append(m.began[evidence.ClientLock{Client: at.Client, Lock: at.Lock}], since)
		m.ended = append(m.ended, queued{at.Lock, since, till})
	}
	for _, times := range m.granted {
		slices.Sort(times)
	}
	for _, times := range m.began {
		slices.Sort(times)
	}
	m.open, m.InVain = open, len(open)
	m.sumWaits()
	m.fairness()
}

// reenters reports whether the acquire is a re-entry: its client held the lock already, as far as the
// client knew.
func (m *measure) reenters(p *history.Pair) bool {
	if p.Done() == history.OK {
		if i, ok := m.replay.HoldOf[p.Complete.Index]; ok && m.replay.Holds[i].Acquire != p.Complete.Index {
			return true
		}
	}
	return m.replay.Claims.Reentrant && m.replay.Attends(p.Invoke.Client, p.Invoke.Lock, p.Invoke.Time)
}

// sumWaits sums up the waits that ended with a grant, and the grants to others during these waits.
func (m *measure) sumWaits() {
	for _, q := range m.ended {
		m.lasted = append(m.lasted, q.till-q.since)
		times := m.granted[q.lock]
		first, _ := slices.BinarySearch(times, q.since+1)
		past, _ := slices.BinarySearch(times, q.till)
		n := max(0, past-first)
		m.Bypasses += n
		m.BypassesMax = max(m.BypassesMax, n)
	}
	if m.Waits = len(m.lasted); m.Waits == 0 {
		return
	}
	lasted := m.lasted
	slices.Sort(lasted)
	m.WaitMedian, m.WaitP95, m.WaitMax = lasted[(m.Waits-1)/2], lasted[(m.Waits*95+99)/100-1], lasted[m.Waits-1]
}

// fairness computes Jain's index: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of
// Fairness and Discrimination for Resource Allocation in Shared Computer Systems" (1984).
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

// losses measures how long holders worked on before they knew that their leases were gone.
func (m *measure) losses() {
	last := map[evidence.ClientLock]int{} // the invocation of the client's last grant
	for _, op := range m.replay.Ops {
		at := evidence.ClientLock{Client: op.Client, Lock: op.Lock}
		if invoked, ok := m.replay.Invocation(op.Index); ok && op.F == history.FAcquire && op.Type == history.OK {
			p := m.replay.Operation(invoked)
			last[evidence.ClientLock{Client: p.Invoke.Client, Lock: p.Invoke.Lock}] = invoked
		}
		grant, had := last[at]
		if op.F != history.FLost || !had {
			continue
		}
		if gone, ok := goneAt(m.replay, grant); ok && gone <= op.Time {
			m.Losses++
			m.LossLagSum += op.Time - gone
			m.LossLagMax = max(m.LossLagMax, op.Time-gone)
		}
	}
}

// goneAt returns the time from which fewer units than the quorum carried grants of the acquire. ok is
// false if the acquire has no grant, or if its quorum stood to the end.
func goneAt(rp *evidence.Replay, acquire int) (at time.Duration, ok bool) {
	left := map[keyspace.NodeKey]time.Duration{} // by unit: the end of its last grant
	for _, l := range rp.Of(acquire) {
		unit := rp.UnitOf(l.NodeKey())
		left[unit] = max(left[unit], l.Until())
	}
	if len(left) == 0 {
		return 0, false
	}
	ends := slices.Sorted(maps.Values(left))
	at = ends[max(0, len(ends)-rp.Quorum())]
	return at, at < evidence.Never
}

// costs counts the commands that belong to each acquisition of a lock (see Measures.Commands), and the
// commands about a lock that were sent while some client believed that it held the lock. Both show the
// load that a lock puts on its nodes. Commands of watchdogs and of waiting clients count; handshakes and
// PING do not.
func (m *measure) costs() {
	byGrant := map[evidence.ClientLock][]int{}
	for at, times := range m.began {
		byGrant[at] = make([]int, len(times))
	}
	held := m.held()
	for _, intervals := range held {
		for _, s := range intervals {
			m.HeldTime += s.To - s.From
		}
	}
	for i := range m.replay.Commands {
		c := &m.replay.Commands[i]
		if c.N == 0 {
			continue
		}
		m.Commands++
		lock, ok := m.lockOf(c)
		if !ok {
			continue
		}
		if within, _ := evidence.IntervalAt(held[lock], c.Sent); within {
			m.HeldCommands++
		}
		at := evidence.ClientLock{Client: c.Client, Lock: lock}
		n, _ := slices.BinarySearch(m.began[at], c.Sent+1)
		if n > 0 {
			byGrant[at][n-1]++
		}
	}
	var all []int
	for _, counts := range byGrant {
		all = append(all, counts...)
	}
	if len(all) > 0 {
		slices.Sort(all)
		m.GrantCommandsMedian, m.GrantCommandsMax = all[(len(all)-1)/2], all[len(all)-1]
	}
}

// held returns the times, by lock, in which some client believed that it held the lock.
func (m *measure) held() map[string][]evidence.Interval {
	all := map[string][]evidence.Interval{}
	for _, h := range m.replay.Holds {
		all[h.Lock] = append(all[h.Lock], evidence.Interval{From: h.From, To: min(h.To, m.replay.End)})
	}
	for lock := range all {
		all[lock] = evidence.Merged(all[lock])
	}
	return all
}

// lockOf returns the lock that a command is about: the lock of the operation that sent it. For a
// watchdog's command, it is the only lock of the trial or, in a trial with several locks, the only
// lock that the client attended to at that time. ok is false if the lock is unknown.
func (m *measure) lockOf(c *history.Command) (lock string, ok bool) {
	if m.replay.Has(c.Op) {
		return m.replay.Operation(c.Op).Invoke.Lock, true
	}
	if len(m.asked) == 1 {
		for lock := range m.asked {
			return lock, true
		}
	}
	for at := range m.began {
		if at.Client != c.Client {
			continue
		}
		if in, _ := evidence.IntervalAt(m.replay.Attended[at], c.Sent); in {
			if ok {
				return "", false
			}
			lock, ok = at.Lock, true
		}
	}
	return lock, ok
}
