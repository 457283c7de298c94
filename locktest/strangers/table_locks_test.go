package strangers

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
)

// table holds the expectations of each lock, by the id of its recipe.
var table = map[string]promised{
	"script-lock":    odder(promised{allowed: limits(), rows: append(requiredLimits(), holds("script-flush", "exclusion"))}),
	"script-telling": odder(plain()),
	"script-watchdog": odder(promised{
		allowed: all(limits(), renewed("client-pause", "node-pause")),
		rows:    requiredLimits(),
	}),
	"go-zero": odder(plain()),
	"go-zero-one-handle": {
		allowed: all(limits(), mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
		rows:    append(requiredLimits(), finds("delay", "exclusion", checker.LateCommand)),
	},
	"grants-everybody": {
		allowed: all(limits(), wrong(checker.Race, "exclusion", "resource", "ownership")),
		rows: rows(under(columns, finds("", "exclusion", checker.Race)),
			under([]string{"none", "client-pause"}, finds("", "resource", checker.Race)),
			under([]string{"none", "client-pause"}, finds("", "ownership", checker.Race))),
	},

	"token-crypto-rand": plain(),
	"token-uuid":        plain(),
	"token-math-rand":   plain(),
	"absolute-life": {
		allowed: all(deadlines(), mistaken([]string{"client-skew"}, checker.ClientClock, "exclusion", "resource", "liveness")),
		rows: []row{
			finds("client-skew", "exclusion", checker.ClientClock), finds("client-pause", "resource", checker.LeaseOutlived),
			finds("node-clock", "exclusion", checker.ServerClock), finds("eviction", "exclusion", checker.ServerLostKey),
			finds("client-crash", "liveness", checker.OrphanedKey),
		},
	},

	"half-life": {
		allowed: all(limits(), wrong(checker.ShortLease, beliefs...)),
		rows:    []row{finds("client-pause", "exclusion", checker.ShortLease), finds("slow-work", "resource", checker.ShortLease)},
	},
	"nine-tenths-life": {
		allowed: all(limits(), wrong(checker.ShortLease, beliefs...)),
		rows:    []row{finds("client-pause", "exclusion", checker.ShortLease)},
	},
	"extended-by-more": {
		allowed: all(limits(), wrong(checker.LongLease, "liveness")),
		rows:    []row{finds("client-crash", "liveness", checker.LongLease), finds("client-pause", "exclusion", checker.LeaseOutlived)},
	},
	"extended-anew": plain(),

	"denies-release": {
		allowed: all(limits(), wrong(checker.FalseAnswer, "conduct")),
		rows:    under(columns, finds("", "conduct", checker.FalseAnswer)),
	},
	"errors-as-busy": {
		allowed: all(limits(), mistaken(cutting, checker.FalseAnswer, "conduct")),
		rows:    append(requiredLimits(), under([]string{"lost-reply", "partition-replies"}, finds("", "conduct", checker.FalseAnswer))...),
	},
	"errors-taken-back":         plain(),
	"ignores-refusal":           tookNothing(),
	"script-answers-one":        tookNothing(),
	"script-answers-one-untold": tookNothing(),
	"retry-taken-for-own": {
		allowed: all(limits(), mistaken(cutting, checker.FalseAnswer, "exclusion", "resource", "conduct")),
		rows: rows(requiredLimits(), under([]string{"partition-requests", "delay", "node-pause"}, finds("", "conduct", checker.FalseAnswer)),
			under([]string{"partition-requests", "delay", "node-pause"}, finds("", "exclusion", checker.FalseAnswer))),
	},
	"refused-then-looked": plain(),
	"script-answers-own":  plain(),
	"retry-looked":        plain(),

	"script-loaded-once": {
		allowed: all(limits(), wrong(checker.LeftFree, "liveness")),
		rows: rows(
			[]row{finds("client-pause", "exclusion", checker.LeaseOutlived), finds("node-clock", "exclusion", checker.ServerClock), finds("eviction", "exclusion", checker.ServerLostKey)},
			under([]string{"script-flush", "node-restart", "failover", "split-brain"}, blocks("", checker.LeftFree)),
		),
	},

	"watch-multi":      plain(),
	"watch-multi-both": plain(),
	"exec-unread": {
		allowed: all(limits(), wrong(checker.FalseAnswer, "exclusion", "resource", "conduct")),
		rows:    append(requiredLimits(), finds("none", "exclusion", checker.FalseAnswer), finds("none", "conduct", checker.FalseAnswer)),
	},
	"multi-unwatched": {
		allowed: all(limits(), mistaken([]string{"client-pause", "node-pause", "delay", "node-restart", "failover", "split-brain", "eviction", "node-clock"},
			checker.ForeignDelete, "ownership", "exclusion", "resource"),
			mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
		rows: append(requiredLimits(), finds("client-pause", "ownership", checker.ForeignDelete), finds("client-pause", "exclusion", checker.ForeignDelete)),
	},

	"incr-owned": plain(),
	"incr-del": {
		allowed: all(limits(), mistaken([]string{"client-pause", "node-pause", "delay", "node-restart", "failover", "split-brain", "eviction", "node-clock"},
			checker.ForeignDelete, "ownership", "exclusion", "resource"),
			mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
		rows: append(requiredLimits(), finds("client-pause", "ownership", checker.ForeignDelete), finds("client-pause", "exclusion", checker.ForeignDelete)),
	},
	"incr-decr": {
		allowed: all(limits(), wrong(checker.NoExpiry, "liveness"),
			mistaken(cutting, checker.ForeignDelete, "ownership", "exclusion", "resource"),
			mistaken([]string{"eviction", "node-clock"}, checker.ForeignDelete, "ownership", "exclusion", "resource"),
			mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
		rows: append(requiredLimits(), blocks("node-clock", checker.NoExpiry), blocks("eviction", checker.NoExpiry), finds("client-pause", "ownership", checker.ForeignDelete)),
	},

	"set-xx": {
		// A renewal by SET XX may replace another client's token. The checker counts that as
		// deleting the other client's grant.
		allowed: all(limits(), renewed(cutting...), mistaken(append([]string{"eviction", "node-clock"}, cutting...), checker.ForeignDelete, "ownership", "exclusion", "resource")),
		rows:    append(requiredLimits(), finds("client-pause", "ownership", checker.ForeignDelete), finds("client-pause", "exclusion", checker.ForeignDelete)),
	},

	"redlock-parallel":   redlock("touch-2of3"),
	"redlock-sequential": redlock("read-1of2"),

	"rw-creator-sets-life": {
		hold: 400 * time.Millisecond, // long, so that nearly always some reader holds the lock
		// The lock itself is at fault: a later reader gets only the rest of the creator's lease,
		// although no clock jumps and no client is late. Under faults that make clocks jump, the
		// checker cannot tell such a short lease from an outlived one.
		allowed: all(limits(), wrong(checker.ShortLease, beliefs...), wrong(checker.Race, beliefs...),
			mistaken([]string{"node-clock", "client-skew"}, checker.LeaseOutlived, beliefs...)),
		rows: rows(under([]string{"none", "script-flush", "reset"}, finds("", "exclusion", checker.ShortLease)),
			[]row{finds("none", "resource", checker.ShortLease)}),
	},
	"rw-zset": {allowed: limits(), rows: append(requiredLimits(),
		// In this trial a key that nobody releases keeps clients out until its TTL is over.
		finds("partition", "liveness", checker.OrphanedKey).in("read-write", "touch-2of3"))},

	"rw-writers-first": plain(),

	"fair-list": {
		allowed: all(limits(), wrong(checker.NoExpiry, "liveness")),
		rows:    []row{blocks("client-crash", checker.NoExpiry).in("mutex", "acquire.n0.1.sent-2of3"), finds("client-pause", "exclusion", checker.LeaseOutlived)},
	},
	"fair-zset": {
		allowed: all(limits(), wrong(checker.NoExpiry, "liveness")),
		rows:    []row{blocks("client-crash", checker.NoExpiry).in("mutex", "acquire.n0.1.sent-2of3"), finds("client-pause", "exclusion", checker.LeaseOutlived)},
	},
	"fair-timeouts": plain(),
	// An answer that says again what an earlier one, which was lost, has said does not begin the lease anew.
	"fair-patient": {
		allowed: all(limits(), mistaken([]string{"delay"}, checker.LeaseOutlived, beliefs...)),
		rows:    append(requiredLimits(), finds("delay", "exclusion", checker.LeaseOutlived).in("mutex", "acquire.n0.3.before.reply-1of2")),
	},
	"handed-over": {allowed: all(limits(), mistaken([]string{"delay"}, checker.LateCommand, beliefs...)), rows: requiredLimits()},

	"fence-before-lock": {
		allowed: all(fenced(), wrong(checker.FenceRegressed, "fencing")),
		rows: []row{
			finds("client-pause", "fencing", checker.FenceRegressed).in("mutex", "acquire.n0.2.before.free-1of2"),
			finds("client-pause", "fencing", checker.FenceRegressed).in("mutex", "acquire.n0.2.before.within-1of2"),
		},
	},
	"fence-after-lock": {
		allowed: all(fenced(), wrong(checker.FenceRegressed, "fencing"), wrong(checker.LeaseOutlived, "resource")),
		rows:    []row{finds("client-pause", "fencing", checker.FenceRegressed).in("mutex", "acquire.n0.2.before.free-1of2")},
	},
	"fence-in-script": {allowed: fenced(), rows: []row{
		finds("none", "exclusion", checker.LeaseOutlived), finds("client-crash", "liveness", checker.OrphanedKey),
		finds("node-restart", "fencing", checker.FenceRegressed), finds("eviction", "exclusion", checker.ServerLostKey),
	}},

	"owner-count": {
		allowed: all(limits(), mistaken([]string{"delay"}, checker.LateCommand, beliefs...),
			// A client's lease may end while the client waits for the reply to a re-entry.
			mistaken([]string{"partition", "partition-requests", "partition-replies", "delay"}, checker.LeaseOutlived, beliefs...)),
		rows: requiredLimits(),
	},
	"hash-of-locks": plain(),

	"set-member": plain(),
	"token-list": {
		unseen:  true,
		allowed: all(mistaken(losing, checker.Unclassified, beliefs...), mistaken(losing, checker.ServerLostKey, beliefs...), wrong(checker.NoExpiry, "liveness")),
		rows: []row{
			{fault: "none", oracle: "ownership", result: checker.Unknown}, holds("none", "exclusion"),
			blocks("client-crash", checker.NoExpiry),
		},
	},
	"set-of-locks": {
		allowed: all(mistaken(losing, checker.ServerLostKey, beliefs...), wrong(checker.NoExpiry, "liveness"),
			mistaken(append([]string{"delay", "node-pause"}, losing...), checker.ForeignDelete, "ownership", "exclusion", "resource"),
			mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
		rows: []row{blocks("client-crash", checker.NoExpiry), finds("eviction", "exclusion", checker.ServerLostKey)},
	},

	"semaphore": {allowed: permitted(), rows: semaphoreRows()},
	"semaphore-one-too-many": {allowed: all(permitted(), wrong(checker.Race, "exclusion")), rows: []row{
		finds("none", "exclusion", checker.Race), holds("none", "liveness")}},

	"permit-left": {
		// A node that lost the count of free permits starts again with all permits free. Clients
		// that give back permits of the lost count then raise it above the maximum.
		allowed: all(permitted(), wrong(checker.NoExpiry, "liveness"),
			mistaken(losing, checker.ForeignDelete, "ownership", "exclusion"), mistaken(losing, checker.Race, "exclusion")),
		rows: []row{
			blocks("lost-reply", checker.NoExpiry).in("mutex", "acquire.n0.2.before-2of3"),
			blocks("partition-replies", checker.NoExpiry).in("mutex", "acquire.n0.2.before-2of3"),
			finds("eviction", "ownership", checker.ForeignDelete), holds("none", "exclusion"), holds("none", "liveness"),
		},
	},
	"script-named": plain(),
	"last-asker":   plain(),
	"last-owner":   plain(),
	"at-least-for": plain(),

	"redsync": {allowed: deadlines(), rows: []row{
		finds("client-pause", "resource", checker.LeaseOutlived), finds("node-clock", "exclusion", checker.ServerClock),
		finds("eviction", "exclusion", checker.ServerLostKey), finds("failover", "exclusion", checker.ServerLostKey),
		finds("client-crash", "liveness", checker.OrphanedKey),
	}},
	"redsync-quorum": redlock("touch-2of3"),
	"redislock":      plain(),
	"rueidislock": {
		// The library notices an unanswered renewal half a lease too late. It notices a
		// lost connection, such as after a promotion, at once.
		allowed: all(limits(), renewed("client-pause", "node-pause", "partition", "partition-requests", "partition-replies", "delay", "lost-reply", "split-brain")),
		varies:  true, // several goroutines of the library send commands
		rows: append(slices.DeleteFunc(requiredLimits(), func(r row) bool { return r.fault == "failover" }),
			finds("partition", "exclusion", checker.RenewalFailed).in("mutex", "read.n0.1.before-2of3")),
	},
}

// redlock returns the expectations of a lock with a deadline on a quorum of nodes. The parameter frozen names
// a schedule that pauses a client between its look at the clock and its use of the resource. The
// client's deadline passes during the pause.
func redlock(frozen string) promised {
	return promised{allowed: deadlines(), rows: []row{
		finds("client-pause", "resource", checker.LeaseOutlived).in("mutex", frozen), finds("node-clock", "exclusion", checker.ServerClock),
		finds("eviction", "exclusion", checker.ServerLostKey), finds("client-crash", "liveness", checker.OrphanedKey),
		// In these two trials the attempts are granted, so the checker must not report that a key
		// kept a client out.
		holds("eviction", "liveness").in("mutex", "read.quorum-1of2"),
		holds("partition", "liveness").in("mutex", "hold.one-1of2"),
	}}
}

// tookNothing returns the expectations of a lock that grants although its command took nothing. A client whose
// command met its own older key counts its lease from then.
func tookNothing() promised {
	return promised{
		unseen: true, ends: true, // in one trial of chaos
		allowed: all(limits(), wrong(checker.FalseAnswer, "exclusion", "resource", "conduct"), wrong(checker.ShortLease, beliefs...),
			mistaken([]string{"delay"}, checker.LateCommand, beliefs...)),
		rows: rows(under(columns, finds("", "exclusion", checker.FalseAnswer)), under(columns, finds("", "conduct", checker.FalseAnswer)),
			under(columns, holds("", "ownership"))),
	}
}

// fenced returns the limits of a lock whose resource refuses late writers. A late writer learns
// only from the resource that it is late. A Redis that loses keys may also lose the counter of
// fencing tokens.
func fenced() []allowed {
	return all(limits(), wrong(checker.LeaseOutlived, "exclusion"), mistaken(losing, checker.FenceRegressed, "fencing"),
		mistaken(losing, checker.LeaseOutlived, "resource"))
}

// permitted returns the limits of a semaphore. They do not concern the resource, which holders
// share by design.
func permitted() []allowed {
	return []allowed{
		{[]string{"exclusion"}, checker.LeaseOutlived, []string{"client-pause", "node-pause"}},
		{[]string{"exclusion"}, checker.ServerLostKey, losing},
		{[]string{"exclusion"}, checker.ServerClock, []string{"node-clock"}},
		{[]string{"liveness"}, checker.OrphanedKey, stranding},
		{[]string{"liveness"}, checker.ServerClock, []string{mix}},
	}
}

func semaphoreRows() []row {
	return []row{holds("client-crash", "exclusion").in("mutex", "hold-2of3"), finds("client-crash", "liveness", checker.OrphanedKey)}
}
