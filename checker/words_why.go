package checker

// Reasons why one party was let in beside another: how the other's grant ended.
const (
	byOtherNodes    What = "by-other-nodes"
	byTwoPrimaries  What = "by-two-primaries"
	recordShared    What = "record-shared"
	overwritten     What = "overwritten"
	besideKey       What = "beside-key"
	lateOwnRemoval  What = "late-own-removal"
	ownRemoval      What = "own-removal"
	lateAttempt     What = "late-attempt"
	lateRemoval     What = "late-removal"
	removedKey      What = "removed-key"
	entryForgotten  What = "entry-forgotten"
	evictedUnder    What = "evicted-under"
	splitWithout    What = "split-without"
	promotedWithout What = "promoted-without"
	restartedWith   What = "restarted-without"
	vanished        What = "vanished"
	judgedByOld     What = "judged-by-old"
	clockAhead      What = "clock-ahead"
	timeStale       What = "time-stale"
	youngTakenOver  What = "young-taken-over"
	oldTakenOver    What = "old-taken-over"
	nodeClockTook   What = "node-clock-took-over"
	expiredEarly    What = "expired-early"
	lifeCutShort    What = "life-cut-short"
	deadlineMoved   What = "deadline-moved"
	expiredUnasked  What = "expired-before-renewal"
	expired         What = "expired"
	renewalLost     What = "renewal-lost"
	expiredApart    What = "expired-on-one-primary"
	renewalUnheard  What = "renewal-unarrived"
	renewalNoAnswer What = "renewal-unanswered"
	renewalRefused  What = "renewal-refused"
	renewalTardy    What = "renewal-tardy"

	// RenewalMissing: the owner sent no renewal in time; nothing tells why.
	RenewalMissing What = "renewal-missing"
	// RenewalStopped: the owner released another lock before the next renewal of this one was
	// due, and after that it renewed this one no more.
	RenewalStopped What = "renewal-stopped"
	// RenewedInstead: the owner never renewed this lease. In its time it renewed Count leases
	// that it had released, from Read to Until, and it never renewed more leases at a time.
	RenewedInstead What = "renewed-instead"
	replacedKey    What = "replaced-key"
	bornShort      What = "born-short"
	shortLife      What = "short-life"
	stillborn      What = "stillborn"
	nothingKept    What = "nothing-kept"
	// GrantUnheard: the client never got the reply that told of its grant.
	GrantUnheard What = "grant-unheard"
	severalInOne What = "several-in-one"
	takenOut     What = "taken-out"
)

// Reasons why a key that nobody believes in keeps others out.
const (
	setBy          What = "set"
	setFor         What = "set-for"
	setThenCrashed What = "set-then-crashed"
	setThenHung    What = "set-then-hung"
	setUnended     What = "set-in-unended-attempt"
	setMeanwhile   What = "set-during-attempt"
	setUnreleased  What = "set-unreleased"
	setAfterwards  What = "set-after-attempt"
	setUnknown     What = "set-in-unknown-attempt"
	setInVain      What = "set-in-failed-attempt"
	setAndLeft     What = "set-and-left-by-release"

	immortal       What = "immortal"
	ttlUnheard     What = "ttl-unheard"
	longerThanSaid What = "longer-than-claimed"
	givenTooMuch   What = "given-too-much"
	clockSetBack   What = "clock-set-back"
	timeAhead      What = "time-ahead"
	keptAlive      What = "kept-alive"

	leftTimeAhead What = "left-time-ahead"
	leftImmortal  What = "left-immortal"
	leftKeptAlive What = "left-kept-alive"
	leftHung      What = "left-hung"
	leftHungOn    What = "left-hung-on"
	leftTooLong   What = "left-too-long"
)

// abandonments are the reasons why nobody attends to a key. A colon joins them to the
// sentence that they explain.
var abandonments = map[What]bool{
	setBy: true, setFor: true, setThenCrashed: true, setThenHung: true, setUnended: true, setMeanwhile: true, setUnreleased: true,
	setAfterwards: true, setUnknown: true, setInVain: true, setAndLeft: true,
}

const setWords = "{who}'s {command} had set it at {at}"

var whyWords = map[What]string{
	byOtherNodes:    "{who} was granted it by {count} nodes and {whom} by {of} others",
	byTwoPrimaries:  "{node} and {node1} both served as primaries since {since}, and {node2} did not have {key}, which {who} had set on {node3} at {at}",
	recordShared:    "{who}'s own grant for reading at {at} overwrote the only record of {whom}'s",
	overwritten:     "{who}'s {command} at {at} overwrote {key}, which {whom} had set at {since}",
	besideKey:       "{who}'s {command} at {at} was granted although {key}, which {whom} had set at {since}, was still there",
	lateOwnRemoval:  "{who}'s own {command}, sent at {sent} for an earlier lease, arrived at {at} and removed {key} of the new one",
	ownRemoval:      "{who}'s own {command} at {at} removed {key} while it still counted on it",
	lateAttempt:     "{who}'s {command}, sent at {sent} in an attempt that was over, arrived at {at} and removed {key} of {whom}",
	lateRemoval:     "{who}'s {command}, sent at {sent}, arrived late at {at} and removed {key}, which was {whom}'s",
	removedKey:      "{who}'s {command} at {at} removed {key}, which was {whom}'s since {since}",
	entryForgotten:  "{node} had lost {who}'s entry of {since}, so that {who}'s {command} at {at} left it for the last time",
	evictedUnder:    "{node} evicted {key} under memory pressure at {at}, which {who} had set at {since}",
	splitWithout:    "{node}, primary of some clients since the split at {at}, did not have {key}, which {who} had set at {since}",
	promotedWithout: "{node}, promoted at {at}, did not have {key}, which {who} had set at {since}",
	restartedWith:   "{node}, restarted at {at}, had lost {key}, which {who} had set at {since}",
	vanished:        "{node} had lost {key}, which {who} had set at {since}, though nothing deleted it and it was not due to expire",
	judgedByOld:     "{who} judged by what it had read at {read}, before {whom}'s grant at {since}, and its {command} at {at} ended that grant instead",
	clockAhead:      "{who}'s wall clock was {apart} {whom}'s, so that its {command} at {at} took over a lease that was only {age} old",
	timeStale:       "{whom}'s time was up to {span} old when it was written at {since}, so that {who}'s {command} at {at} took over a lease that was only {age} old",
	youngTakenOver:  "{who}'s {command} at {at} was granted although {whom}'s claim of {since} stood there and was young enough",
	oldTakenOver:    "{who} took over at {at} what {whom} had held since {since}, longer than its lease",
	nodeClockTook:   "{node}'s wall clock had jumped, so that {who}'s {command} at {at} took over what {whom} had held for {age} only",
	expiredEarly:    "{node}'s wall clock had jumped, so that {key} expired at {at} instead of {until}",
	lifeCutShort:    "{who}'s {command} at {at} had cut the life of {key} short, which was {whom}'s",
	deadlineMoved:   "{who}'s wall clock changed while it held the lock, so that its deadline came after {key} had expired at {at}",
	expiredUnasked:  "{node}'s wall clock had jumped, so that {key} expired at {at}, before {who}'s {command} of {sent} could prolong it",
	expired:         "{who}'s {key} had expired at {at}, {age} after it was given its life",
	renewalLost:     "{node} had lost {who}'s {command} of {at} since {since}, so that {key} expired at {until}",
	expiredApart:    "{node} and {node1} both served as primaries since {since}, and {key}, which {who} prolonged on {node2}, expired on {node3} at {at}",
	renewalUnheard:  "{who}'s {command}, sent at {sent}, never reached {node}, and {key} expired at {at}",
	renewalNoAnswer: "{who} never got the reply to its {command} of {sent}, no other renewal came in time, and {key} expired at {at}",
	renewalRefused:  "{who}'s {command} of {sent} was answered {reply} at {replied}, and {key} expired at {at}",
	renewalTardy:    "{who}'s {command} of {sent} was answered too late: {key} had expired at {at}",
	replacedKey:     "{who}'s {command} at {at} put its own in the place of {key}, which was {whom}'s since {since}",
	bornShort:       "{node}'s wall clock was {span} ahead of {who}'s, so that the life that {who} gave {key} at {at} was over after {age}",
	shortLife:       "{who}'s {key} had expired at {at}, {age} after it was given its life, though the lease that was asked for ran until {until}",
	stillborn:       "{node}'s wall clock was {span} ahead of {who}'s, so that the life that {who}'s {command} gave at {at} was over already, and no key was there",
	GrantUnheard:    "{who} did not get the reply to that {command}",
	severalInOne:    "{key} on {node} carries several owners in one value, as {who}'s {command} at {at} left {whom}'s beside its own: whose grants commands end there cannot be told",
	takenOut:        "grants are taken out of {key} on {node}, as by {who}'s {command} at {at}: whose is whose cannot be told",
	RenewalMissing:  "{who} sent no renewal after {since} in time, and {key} expired at {at}",
	RenewedInstead:  "{who} never renewed this lease: from {read} to {until} it renewed {count} leases that it had released, the most that it ever renewed at a time, and {key} expired at {at}",
	RenewalStopped:  "{who} sent no renewal any more after it had released {locks} at {since}, and {key} expired at {at}",

	setBy:          setWords,
	setFor:         "{who}'s {command} had handed it to {whom} at {at}, which did not come for it",
	setThenCrashed: setWords + ", and {who} crashed at {until}",
	setThenHung:    setWords + ", and {who} hangs in its work since {until}",
	setUnended:     setWords + " in an attempt that never ended",
	setMeanwhile:   setWords + " in an attempt that went on until {until}",
	setUnreleased:  setWords + ", and its release did not remove it",
	setAfterwards:  setWords + ", after that attempt had ended at {until}",
	setUnknown:     setWords + ", in an attempt that ended unknown at {until}",
	setInVain:      setWords + ", in an attempt that ended without success at {until}",
	setAndLeft:     setWords + ", and its release left it there at {until}",

	immortal:       "it had no TTL since {since}",
	ttlUnheard:     "it lived on beyond {until}: {node} may not have heard of its TTL",
	nothingKept:    "no acquire of {locks} ever put a key into Redis, or found one there",
	givenTooMuch:   "it was given {age} to live, longer than the {span} which the recipe claims",
	longerThanSaid: "that is longer than the {span} which the recipe claims",
	clockSetBack:   "{node}'s wall clock had been set back, or was set right, so that {key} lived beyond {until}",
	timeAhead:      "the time in it was of {who}'s wall clock, which was {apart} {whom}'s",
	keptAlive:      "{who}, which did not hold it, went on prolonging it with {command}, last at {at}",

	leftTimeAhead: "{key} on {node} holds a time of {who}'s wall clock, which was {apart} {whom}'s",
	leftImmortal:  "{key} on {node} has no TTL and no living owner",
	leftHung:      "{key} on {node} has no TTL, and {who} never comes back to remove it",
	leftHungOn:    "{who}, which never comes back from its work, keeps {key} on {node} alive with {command}, last at {at}, {span} after it began to hang",
	leftKeptAlive: "{who}, which does not hold it, keeps {key} on {node} alive with {command}, last at {at}, {span} after it began to hang",
	leftTooLong:   "{key} on {node} has still {span} to live at {at}, longer than the recipe claims",
}
