package account

// Reasons why a client was granted the lock while another held it, mostly how the other client's
// grant ended; and reasons why nobody takes a free lock. whyWords has their sentences.
const (
	ByOtherNodes      What = "by-other-nodes"
	ByTwoPrimaries    What = "by-two-primaries"
	RecordShared      What = "record-shared"
	Overwritten       What = "overwritten"
	BesideKey         What = "beside-key"
	LateOwnRemoval    What = "late-own-removal"
	OwnRemoval        What = "own-removal"
	LateAttempt       What = "late-attempt"
	LateRemoval       What = "late-removal"
	RemovedKey        What = "removed-key"
	EntryForgotten    What = "entry-forgotten"
	EvictedUnder      What = "evicted-under"
	SplitWithout      What = "split-without"
	PromotedWithout   What = "promoted-without"
	RestartedWith     What = "restarted-without"
	Vanished          What = "vanished"
	JudgedByOld       What = "judged-by-old"
	ClockAhead        What = "clock-ahead"
	TimeStale         What = "time-stale"
	YoungTakenOver    What = "young-taken-over"
	OldTakenOver      What = "old-taken-over"
	NodeClockTook     What = "node-clock-took-over"
	ExpiredEarly      What = "expired-early"
	LifeCutShort      What = "life-cut-short"
	DeadlineMoved     What = "deadline-moved"
	ExpiredUnasked    What = "expired-before-renewal"
	Expired           What = "expired"
	RenewalLost       What = "renewal-lost"
	ExpiredApart      What = "expired-on-one-primary"
	ExtensionLost     What = "extension-lost"
	ExtendedApart     What = "extended-on-one-primary"
	TurnApart         What = "turn-on-one-primary"
	RenewalNotArrived What = "renewal-unarrived"
	RenewalNoAnswer   What = "renewal-unanswered"
	RenewalRefused    What = "renewal-refused"
	RenewalTardy      What = "renewal-tardy"

	// RenewalMissing: the owner sent no renewal in time; the evidence does not show why.
	RenewalMissing What = "renewal-missing"
	// RenewalStopped: the owner released another lock before the next renewal of this one was due.
	// After that release, the owner never renewed this lock again.
	RenewalStopped What = "renewal-stopped"
	// RenewedInstead: the owner never renewed this lease. From Read to Until it renewed Count
	// released leases instead. The owner never renewed more than Count leases at the same time.
	RenewedInstead What = "renewed-instead"
	ReplacedKey    What = "replaced-key"
	BornShort      What = "born-short"
	ShortLife      What = "short-life"
	Stillborn      What = "stillborn"
	NothingKept    What = "nothing-kept"
	// GrantUnheard: the client never got the reply that told of its grant.
	GrantUnheard What = "grant-unheard"
	// The next four kinds tell why nobody takes a free lock. NothingAsked: the waiting clients
	// sent no command to take it. ToldToWait: neither did they, and before, the answer to Command was a
	// remaining life of Age that is not over. AskedInVain: they sent Count commands in vain; Command is the
	// last one. ScriptForgotten: the answer to Command was NOSCRIPT.
	NothingAsked    What = "nothing-asked"
	AskedInVain     What = "asked-in-vain"
	ScriptForgotten What = "script-forgotten"
	ToldToWait      What = "told-to-wait"

	SeveralInOne What = "several-in-one"
	TakenOut     What = "taken-out"
	// LeaseOver: the lease of a grant that cannot be told from others was over.
	LeaseOver What = "lease-over"
)

// Reasons why a key keeps others out although no client believes that it holds the lock by this
// key.
const (
	SetBy          What = "set"
	SetFor         What = "set-for"
	SetThenCrashed What = "set-then-crashed"
	SetThenHung    What = "set-then-hung"
	SetUnended     What = "set-in-unended-attempt"
	SetMeanwhile   What = "set-during-attempt"
	SetUnreleased  What = "set-unreleased"
	SetAfterwards  What = "set-after-attempt"
	SetUnknown     What = "set-in-unknown-attempt"
	SetInVain      What = "set-in-failed-attempt"
	SetAndLeft     What = "set-and-left-by-release"

	Immortal         What = "immortal"
	TTLNotReplicated What = "ttl-unheard"
	LongerThanSaid   What = "longer-than-claimed"
	GivenTooMuch     What = "given-too-much"
	ClockSetBack     What = "clock-set-back"
	TimeAhead        What = "time-ahead"
	KeptAlive        What = "kept-alive"

	LeftTimeAhead What = "left-time-ahead"
	LeftImmortal  What = "left-immortal"
	LeftKeptAlive What = "left-kept-alive"
	LeftHung      What = "left-hung"
	LeftHungOn    What = "left-hung-on"
	LeftTooLong   What = "left-too-long"
)

// abandonments are the reasons why no client attends to a key. A sentence puts a colon before them, as
// before its first reason, and a semicolon before other reasons.
var abandonments = map[What]bool{
	SetBy: true, SetFor: true, SetThenCrashed: true, SetThenHung: true, SetUnended: true, SetMeanwhile: true, SetUnreleased: true,
	SetAfterwards: true, SetUnknown: true, SetInVain: true, SetAndLeft: true,
}

const setWords = "{who}'s {command} had set it at {at}"

var whyWords = map[What]string{
	ByOtherNodes:      "{who} was granted it by {count} nodes and {whom} by {of} others",
	ByTwoPrimaries:    "{node} and {node1} both served as primaries since {since}, and {node2} did not have {key}, which {who} had set on {node3} at {at}",
	RecordShared:      "{who}'s own grant for reading at {at} overwrote the only record of {whom}'s",
	Overwritten:       "{who}'s {command} at {at} overwrote {key}, which {whom} had set at {since}",
	BesideKey:         "{who}'s {command} at {at} was granted although {key}, which {whom} had set at {since}, was still there",
	LateOwnRemoval:    "{who}'s own {command}, sent at {sent} for an earlier lease, arrived at {at} and removed {key} of the new one",
	OwnRemoval:        "{who}'s own {command} at {at} removed {key} while {who} still counted on it",
	LateAttempt:       "{who}'s {command}, sent at {sent} in an attempt that was over, arrived at {at} and removed {key} of {whom}",
	LateRemoval:       "{who}'s {command}, sent at {sent}, arrived late at {at} and removed {key}, which was {whom}'s",
	RemovedKey:        "{who}'s {command} at {at} removed {key}, which was {whom}'s since {since}",
	EntryForgotten:    "{node} had lost {who}'s entry of {since}, so that {who}'s {command} at {at} freed the lock before {who}'s last release",
	EvictedUnder:      "{node} evicted {key} under memory pressure at {at}, which {who} had set at {since}",
	SplitWithout:      "{node}, primary of some clients since the split at {at}, did not have {key}, which {who} had set at {since}",
	PromotedWithout:   "{node}, promoted at {at}, did not have {key}, which {who} had set at {since}",
	RestartedWith:     "{node}, restarted at {at}, had lost {key}, which {who} had set at {since}",
	Vanished:          "{node} had lost {key}, which {who} had set at {since}, though nothing deleted it and it was not due to expire",
	JudgedByOld:       "{who} acted on a value that it had read at {read}, before {whom}'s grant at {since}, and its {command} at {at} ended that grant instead",
	ClockAhead:        "{who}'s wall clock was {apart} {whom}'s, so that its {command} at {at} took over a lease that was only {age} old",
	TimeStale:         "{whom}'s time was up to {span} old when it was written at {since}, so that {who}'s {command} at {at} took over a lease that was only {age} old",
	YoungTakenOver:    "{who}'s {command} at {at} was granted although {whom}'s claim of {since} stood there and was young enough",
	OldTakenOver:      "{who} took over at {at} the lock that {whom} had held since {since}, longer than its lease",
	NodeClockTook:     "{node}'s wall clock had jumped, so that {who}'s {command} at {at} took over the lock that {whom} had held for only {age}",
	ExpiredEarly:      "{node}'s wall clock had jumped, so that {key} expired at {at} instead of {until}",
	LifeCutShort:      "{who}'s {command} at {at} had shortened the life of {key}, which was {whom}'s",
	DeadlineMoved:     "{who}'s wall clock changed while it held the lock, so that its deadline came after {key} had expired at {at}",
	ExpiredUnasked:    "{node}'s wall clock had jumped, so that {key} expired at {at}, before {who}'s {command} of {sent} could prolong it",
	Expired:           "{who}'s {key} had expired at {at}, {age} after its TTL was set",
	RenewalLost:       "{node} had lost {who}'s {command} of {at} since {since}, so that {key} expired at {until}",
	ExpiredApart:      "{node} and {node1} both served as primaries since {since}, and {key}, which {who} prolonged on {node2}, expired on {node3} at {at}",
	ExtensionLost:     "{node} had lost {who}'s {command} of {at} since {since}, so that the lease in {key} had ended there",
	ExtendedApart:     "{node} and {node1} both served as primaries since {since}, and the lease in {key}, which {who}'s {command} of {at} prolonged on {node2}, had ended on {node3}",
	TurnApart:         "{node} and {node1} both served as primaries since {since}, and {who}, whose turn came on {node2} at {at}, still waited in {key} on {node3}",
	RenewalNotArrived: "{who}'s {command}, sent at {sent}, never reached {node}, and {key} expired at {at}",
	RenewalNoAnswer:   "{who} never got the reply to its {command} of {sent}, no other renewal came in time, and {key} expired at {at}",
	RenewalRefused:    "{who}'s {command} of {sent} was answered {reply} at {replied}, and {key} expired at {at}",
	RenewalTardy:      "{who}'s {command} of {sent} was answered too late: {key} had expired at {at}",
	ReplacedKey:       "{who}'s {command} at {at} overwrote {key}, which was {whom}'s since {since}, with its own value",
	BornShort:         "{node}'s wall clock was {span} ahead of {who}'s, so that the TTL that {who} gave {key} at {at} was over after {age}",
	ShortLife:         "{who}'s {key} had expired at {at}, {age} after its TTL was set, though the requested lease ran until {until}",
	Stillborn:         "{node}'s wall clock was {span} ahead of {who}'s, so that the TTL that {who}'s {command} gave at {at} was over already, and no key was there",
	GrantUnheard:      "{who} did not get the reply to that {command}",
	NothingAsked:      "they sent no command to take it in all that time",
	ToldToWait:        "they sent no command to take it in all that time: {node} had answered {by}'s {command} of {sent} that the key had {age} left, and {by} waits for that",
	AskedInVain:       "they sent {count} commands to take it, and {by}'s last, {command} to {node} at {sent}, was answered {reply}",
	ScriptForgotten:   "they sent {count} commands to take it, and {node} answered {by}'s last, {command} at {sent}, that it does not have the script: {reply}",
	SeveralInOne:      "{key} on {node} carries several owners in one value, as {who}'s {command} at {at} left {whom}'s beside its own: a command that ends a grant does not show whose grant it ends",
	TakenOut:          "grants are taken out of {key} on {node}, as by {who}'s {command} at {at}: which client owns which grant is unknown",
	LeaseOver:         "{who}'s lease of {span} was over at {until} at the latest",
	RenewalMissing:    "{who} sent no renewal after {since} in time, and {key} expired at {at}",
	RenewedInstead:    "{who} never renewed this lease: from {read} to {until} it renewed {count} released leases instead, the most leases that it ever renewed at a time, and {key} expired at {at}",
	RenewalStopped:    "{who} sent no further renewal after it had released {locks} at {since}, and {key} expired at {at}",

	SetBy:          setWords,
	SetFor:         "{who}'s {command} had handed it to {whom} at {at}, and {whom} did not take it",
	SetThenCrashed: setWords + ", and {who} crashed at {until}",
	SetThenHung:    setWords + ", and {who} hangs in its work since {until}",
	SetUnended:     setWords + " in an attempt that never ended",
	SetMeanwhile:   setWords + " in an attempt that went on until {until}",
	SetUnreleased:  setWords + ", and its release did not remove it",
	SetAfterwards:  setWords + ", after that attempt had ended at {until}",
	SetUnknown:     setWords + ", in an attempt that ended unknown at {until}",
	SetInVain:      setWords + ", in an attempt that ended without success at {until}",
	SetAndLeft:     setWords + ", and its release left it there at {until}",

	Immortal:         "it had no TTL since {since}",
	TTLNotReplicated: "it lived on beyond {until}: {node} may not have heard of its TTL",
	NothingKept:      "no acquire of {locks} ever put a key into Redis, or found one there",
	GivenTooMuch:     "its TTL was {age}, longer than the {span} that the recipe claims",
	LongerThanSaid:   "that is longer than the {span} that the recipe claims",
	ClockSetBack:     "{node}'s wall clock had been set back, or was set right, so that {key} lived beyond {until}",
	TimeAhead:        "the time in it was by {who}'s wall clock, which was {apart} {whom}'s",
	KeptAlive:        "{who}, which did not hold it, went on prolonging it with {command}, last at {at}",

	LeftTimeAhead: "{key} on {node} holds a time by {who}'s wall clock, which was {apart} {whom}'s",
	LeftImmortal:  "{key} on {node} has no TTL and no living owner",
	LeftHung:      "{key} on {node} has no TTL, and {who} never comes back to remove it",
	LeftHungOn:    "{who}, which never comes back from its work, keeps {key} on {node} alive with {command}, last at {at}, {span} after it began to hang",
	LeftKeptAlive: "{who}, which does not hold it, keeps {key} on {node} alive with {command}, last at {at}",
	LeftTooLong:   "{key} on {node} has still {span} to live at {at}, longer than the recipe claims",
}
