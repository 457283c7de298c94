package account

// Reasons why a client was granted the lock while another held it, mostly how the other client's
// grant ended; and reasons why nobody takes a free lock.
var (
	ByOtherNodes      = fact("by-other-nodes", "{who} was granted it by {count} nodes and {whom} by {of} others")
	ByTwoPrimaries    = fact("by-two-primaries", "{node} and {node1} both served as primaries since {since}, and {node2} did not have {key}, which {who} had set on {node3} at {at}")
	RecordShared      = fact("record-shared", "{who}'s own grant for reading at {at} overwrote the only record of {whom}'s")
	Overwritten       = fact("overwritten", "{who}'s {command} at {at} overwrote {key}, which {whom} had set at {since}")
	BesideKey         = fact("beside-key", "{who}'s {command} at {at} was granted although {key}, which {whom} had set at {since}, was still there")
	LateOwnRemoval    = fact("late-own-removal", "{who}'s own {command}, sent at {sent} for an earlier lease, arrived at {at} and removed {key} of the new one")
	OwnRemoval        = fact("own-removal", "{who}'s own {command} at {at} removed {key} while {who} still counted on it")
	LateAttempt       = fact("late-attempt", "{who}'s {command}, sent at {sent} in an attempt that was over, arrived at {at} and removed {key} of {whom}")
	LateRemoval       = fact("late-removal", "{who}'s {command}, sent at {sent}, arrived late at {at} and removed {key}, which was {whom}'s")
	RemovedKey        = fact("removed-key", "{who}'s {command} at {at} removed {key}, which was {whom}'s since {since}")
	EntryForgotten    = fact("entry-forgotten", "{node} had lost {who}'s entry of {since}, so that {who}'s {command} at {at} freed the lock before {who}'s last release")
	EvictedUnder      = fact("evicted-under", "{node} evicted {key} under memory pressure at {at}, which {who} had set at {since}")
	SplitWithout      = fact("split-without", "{node}, primary of some clients since the split at {at}, did not have {key}, which {who} had set at {since}")
	PromotedWithout   = fact("promoted-without", "{node}, promoted at {at}, did not have {key}, which {who} had set at {since}")
	RestartedWith     = fact("restarted-without", "{node}, restarted at {at}, had lost {key}, which {who} had set at {since}")
	Vanished          = fact("vanished", "{node} had lost {key}, which {who} had set at {since}, though nothing deleted it and it was not due to expire")
	JudgedByOld       = fact("judged-by-old", "{who} acted on a value that it had read at {read}, before {whom}'s grant at {since}, and its {command} at {at} ended that grant instead")
	ClockAhead        = fact("clock-ahead", "{who}'s wall clock was {apart} {whom}'s, so that its {command} at {at} took over a lease that was only {age} old")
	TimeStale         = fact("time-stale", "{whom}'s time was up to {span} old when it was written at {since}, so that {who}'s {command} at {at} took over a lease that was only {age} old")
	YoungTakenOver    = fact("young-taken-over", "{who}'s {command} at {at} was granted although {whom}'s claim of {since} stood there and was young enough")
	OldTakenOver      = fact("old-taken-over", "{who} took over at {at} the lock that {whom} had held since {since}, longer than its lease")
	NodeClockTook     = fact("node-clock-took-over", "{node}'s wall clock had jumped, so that {who}'s {command} at {at} took over the lock that {whom} had held for only {age}")
	ExpiredEarly      = fact("expired-early", "{node}'s wall clock had jumped, so that {key} expired at {at} instead of {until}")
	LifeCutShort      = fact("life-cut-short", "{who}'s {command} at {at} had shortened the life of {key}, which was {whom}'s")
	DeadlineMoved     = fact("deadline-moved", "{who}'s wall clock changed while it held the lock, so that its deadline came after {key} had expired at {at}")
	ExpiredUnasked    = fact("expired-before-renewal", "{node}'s wall clock had jumped, so that {key} expired at {at}, before {who}'s {command} of {sent} could prolong it")
	Expired           = fact("expired", "{who}'s {key} had expired at {at}, {age} after its TTL was set")
	RenewalLost       = fact("renewal-lost", "{node} had lost {who}'s {command} of {at} since {since}, so that {key} expired at {until}")
	ExpiredApart      = fact("expired-on-one-primary", "{node} and {node1} both served as primaries since {since}, and {key}, which {who} prolonged on {node2}, expired on {node3} at {at}")
	ExtensionLost     = fact("extension-lost", "{node} had lost {who}'s {command} of {at} since {since}, so that the lease in {key} had ended there")
	ExtendedApart     = fact("extended-on-one-primary", "{node} and {node1} both served as primaries since {since}, and the lease in {key}, which {who}'s {command} of {at} prolonged on {node2}, had ended on {node3}")
	TurnApart         = fact("turn-on-one-primary", "{node} and {node1} both served as primaries since {since}, and {who}, whose turn came on {node2} at {at}, still waited in {key} on {node3}")
	RenewalNotArrived = fact("renewal-unarrived", "{who}'s {command}, sent at {sent}, never reached {node}, and {key} expired at {at}")
	RenewalNoAnswer   = fact("renewal-unanswered", "{who} never got the reply to its {command} of {sent}, no other renewal came in time, and {key} expired at {at}")
	RenewalRefused    = fact("renewal-refused", "{who}'s {command} of {sent} was answered {reply} at {replied}, and {key} expired at {at}")
	RenewalTardy      = fact("renewal-tardy", "{who}'s {command} of {sent} was answered too late: {key} had expired at {at}")

	// RenewalMissing: the owner sent no renewal in time; the evidence does not show why.
	RenewalMissing = fact("renewal-missing", "{who} sent no renewal after {since} in time, and {key} expired at {at}")
	// RenewalStopped: the owner released another lock before the next renewal of this one was due.
	// After that release, the owner never renewed this lock again.
	RenewalStopped = fact("renewal-stopped", "{who} sent no further renewal after it had released {locks} at {since}, and {key} expired at {at}")
	// RenewedInstead: the owner never renewed this lease. From Read to Until it renewed Count
	// released leases instead. The owner never renewed more than Count leases at the same time.
	RenewedInstead = fact("renewed-instead", "{who} never renewed this lease: from {read} to {until} it renewed {count} released leases instead, the most leases that it ever renewed at a time, and {key} expired at {at}")
	ReplacedKey    = fact("replaced-key", "{who}'s {command} at {at} overwrote {key}, which was {whom}'s since {since}, with its own value")
	BornShort      = fact("born-short", "{node}'s wall clock was {span} ahead of {who}'s, so that the TTL that {who} gave {key} at {at} was over after {age}")
	ShortLife      = fact("short-life", "{who}'s {key} had expired at {at}, {age} after its TTL was set, though the requested lease ran until {until}")
	Stillborn      = fact("stillborn", "{node}'s wall clock was {span} ahead of {who}'s, so that the TTL that {who}'s {command} gave at {at} was over already, and no key was there")
	HeldRefused    = fact("held-refused", "{who}'s {command} took nothing on {node} at {at}, since another client had the key, and {who} was told all the same that it had the lock")
	NothingKept    = fact("nothing-kept", "no acquire of {locks} ever put a key into Redis, or found one there")
	// GrantUnheard: the client never got the reply that told of its grant.
	GrantUnheard = fact("grant-unheard", "{who} did not get the reply to that {command}")
	// The next four kinds tell why nobody takes a free lock. NothingAsked: the waiting clients
	// sent no command to take it. ToldToWait: neither did they, and before, the answer to Command was a
	// remaining life of Age that is not over. AskedInVain: they sent Count commands in vain; Command is the
	// last one. ScriptForgotten: the answer to Command was NOSCRIPT.
	NothingAsked    = fact("nothing-asked", "they sent no command to take it in all that time")
	AskedInVain     = fact("asked-in-vain", "they sent {count} commands to take it, and {by}'s last, {command} to {node} at {sent}, was answered {reply}")
	ScriptForgotten = fact("script-forgotten", "they sent {count} commands to take it, and {node} answered {by}'s last, {command} at {sent}, that it does not have the script: {reply}")
	ToldToWait      = fact("told-to-wait", "they sent no command to take it in all that time: {node} had answered {by}'s {command} of {sent} that the key had {age} left, and {by} waits for that")

	SeveralInOne = fact("several-in-one", "{key} on {node} carries several owners in one value, as {who}'s {command} at {at} left {whom}'s beside its own: a command that ends a grant does not show whose grant it ends")
	TakenOut     = fact("taken-out", "grants are taken out of {key} on {node}, as by {who}'s {command} at {at}: which client owns which grant is unknown")
	// LeaseOver: the lease of a grant that cannot be told from others was over.
	LeaseOver = fact("lease-over", "{who}'s lease of {span} was over at {until} at the latest")
)

// Reasons why a key keeps others out although no client believes that it holds the lock by this
// key.
var (
	SetBy          = fact("set", setWords)
	SetFor         = fact("set-for", "{who}'s {command} had handed it to {whom} at {at}, and {whom} did not take it")
	SetThenCrashed = fact("set-then-crashed", setWords+", and {who} crashed at {until}")
	SetThenHung    = fact("set-then-hung", setWords+", and {who} hangs in its work since {until}")
	SetUnended     = fact("set-in-unended-attempt", setWords+" in an attempt that never ended")
	SetMeanwhile   = fact("set-during-attempt", setWords+" in an attempt that went on until {until}")
	SetUnreleased  = fact("set-unreleased", setWords+", and its release did not remove it")
	SetAfterwards  = fact("set-after-attempt", setWords+", after that attempt had ended at {until}")
	SetUnknown     = fact("set-in-unknown-attempt", setWords+", in an attempt that ended unknown at {until}")
	SetInVain      = fact("set-in-failed-attempt", setWords+", in an attempt that ended without success at {until}")
	SetAndLeft     = fact("set-and-left-by-release", setWords+", and its release left it there at {until}")

	Immortal         = fact("immortal", "it had no TTL since {since}")
	TTLNotReplicated = fact("ttl-unheard", "it lived on beyond {until}: {node} may not have heard of its TTL")
	LongerThanSaid   = fact("longer-than-claimed", "that is longer than the {span} that the recipe claims")
	GivenTooMuch     = fact("given-too-much", "its TTL was {age}, longer than the {span} that the recipe claims")
	RenewedTooFar    = fact("renewed-too-far", "{who}'s {command} at {at} gave {key} a TTL of {age}, longer than the {span} that the recipe claims")
	ClockSetBack     = fact("clock-set-back", "{node}'s wall clock had been set back, or was set right, so that {key} lived beyond {until}")
	TimeAhead        = fact("time-ahead", "the time in it was by {who}'s wall clock, which was {apart} {whom}'s")
	KeptAlive        = fact("kept-alive", "{who}, which did not hold it, went on prolonging it with {command}, last at {at}")

	LeftTimeAhead = fact("left-time-ahead", "{key} on {node} holds a time by {who}'s wall clock, which was {apart} {whom}'s")
	LeftImmortal  = fact("left-immortal", "{key} on {node} has no TTL and no living owner")
	LeftKeptAlive = fact("left-kept-alive", "{who}, which does not hold it, keeps {key} on {node} alive with {command}, last at {at}")
	LeftHung      = fact("left-hung", "{key} on {node} has no TTL, and {who} never comes back to remove it")
	LeftHungOn    = fact("left-hung-on", "{who}, which never comes back from its work, keeps {key} on {node} alive with {command}, last at {at}, {span} after it began to hang")
	LeftTooLong   = fact("left-too-long", "{key} on {node} has still {span} to live at {at}, longer than the recipe claims")
)

// abandonments are the reasons why no client attends to a key. A sentence puts a colon before them, as
// before its first reason, and a semicolon before other reasons.
var abandonments = map[What]bool{
	SetBy: true, SetFor: true, SetThenCrashed: true, SetThenHung: true, SetUnended: true, SetMeanwhile: true, SetUnreleased: true,
	SetAfterwards: true, SetUnknown: true, SetInVain: true, SetAndLeft: true,
}

const setWords = "{who}'s {command} had set it at {at}"
